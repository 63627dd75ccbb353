#pragma once

#include <executorch/runtime/backend/interface.h>

/// The backend that registered itself before main.
executorch::runtime::BackendInterface* registered_backend();
