// TOSA's instructions in SPIR-V; the header is SPIRV-Headers'.
#pragma once

#include <spirv/unified1/TOSA.001000.1.h>
