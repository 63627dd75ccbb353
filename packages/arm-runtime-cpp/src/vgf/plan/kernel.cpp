#include "kernel.hpp"

#include <cstring>
#include <iterator>
#include <string>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

#include "kernel_table.inc"

}  // namespace

const KernelCode& find_kernel(const char* name, bool floats, size_t steps, bool dot) {
    const KernelCode* best = nullptr;
    for (const KernelCode& code : kKernels) {
        if (std::strcmp(code.name, name) != 0 || code.dot != dot || code.steps < steps ||
            (floats && !code.floats)) {
            continue;
        }
        const bool smaller = best == nullptr || code.floats < best->floats ||
                             (code.floats == best->floats && code.steps < best->steps);
        if (smaller) best = &code;
    }
    if (best == nullptr) {
        throw Error("this build of the runtime has no kernel '" + std::string(name) + "' for " +
                    (floats ? "floats" : "integers") + " and " + std::to_string(steps) +
                    " steps: see ARM_RUNTIME_VGF_KERNELS");
    }
    return *best;
}

}  // namespace arm_runtime::vgf
