// The kernels that were compiled into this library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arm_runtime::vgf {

/// A file of kernels/, compiled to SPIR-V with some of its macros defined.
struct KernelCode {
    const char* name;  ///< of the file, without its suffix
    bool floats;       ///< FLOATS: its program may have steps on floats
    uint32_t steps;    ///< ARM_VGF_STEPS: of its program, at most
    bool dot;          ///< DOT: needs integer dot products
    const uint32_t* words;
    size_t count;
};

/// The smallest variant that holds the program. Throws Error if this build has none.
const KernelCode& find_kernel(const char* name, bool floats, size_t steps, bool dot = false);

}  // namespace arm_runtime::vgf
