// Networks on an Ethos-U behind Linux's driver for it.
#pragma once

#include "network.hpp"

namespace arm_runtime::ethosu {

/// As `open_network`; `device` is a path such as /dev/accel/accel0. Commands and weights go to the
/// driver once, here; inputs and outputs are in memory that the NPU and this process share.
Network* open_on_linux(const char* device, const Payload& payload, const Allocator& allocator,
                       Report report);

}  // namespace arm_runtime::ethosu
