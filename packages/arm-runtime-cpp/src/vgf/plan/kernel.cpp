#include "kernel.hpp"

#include <cstring>
#include <iterator>
#include <string>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

#include "kernel_table.inc"

}  // namespace

std::string label_of(const char* kernel, bool dot, const char* tested_type) {
    return std::string(kernel) + (dot ? "+dot" : "") + (*tested_type != '\0' ? "." : "") +
           tested_type;
}

const KernelCode* find_optional_kernel(const char* name, bool dot) {
    for (const KernelCode& code : kKernels) {
        if (std::strcmp(code.name, name) == 0 && code.dot == dot) return &code;
    }
    return nullptr;
}

const KernelCode& find_kernel(const char* name, bool dot) {
    if (const KernelCode* const code = find_optional_kernel(name, dot)) return *code;
    throw Error("this build of the runtime has no kernel '" + std::string(name) +
                "': add it, or the .vgf, to CMake's ARM_RUNTIME_VGF_KERNELS");
}

}  // namespace arm_runtime::vgf
