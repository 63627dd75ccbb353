// The kernels that were compiled into this library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace arm_runtime::vgf {

/// A file of kernels/, compiled to SPIR-V with some of its macros defined.
struct KernelCode {
    const char* name;  ///< of the file, without its suffix
    bool dot;          ///< DOT: with integer dot products
    const uint32_t* words;
    size_t count;
};

/// "gemm", "gemm+dot", "gemm.fp32": what of a kernel is tested on a device.
std::string label_of(const char* kernel, bool dot, const char* tested_type);

/// nullptr if this build has no such kernel.
const KernelCode* find_optional_kernel(const char* name, bool dot);

/// Throws Error if this build has no such kernel.
const KernelCode& find_kernel(const char* name, bool dot);

}  // namespace arm_runtime::vgf
