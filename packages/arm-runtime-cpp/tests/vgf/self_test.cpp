// vgf_self_test KERNEL...: runs the self-tests of each kernel and prints whether they are right,
// without integer dot products and, if the device has them, with. "gemm.fp32" is that of another
// type than int8.
#include "vgf/self_test.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "vgf/device_traits.hpp"

int main(int count, char** kernels) {
    using namespace arm_runtime::vgf;
    try {
        Options options = options_from_environment();
        options.engine = EngineKind::kCompute;
        Device& device = Device::get(options);
        DeviceTraits traits = traits_of(device);
        traits.threads = std::max(traits.threads, DeviceTraits().threads);  // kernels for GPUs too
        for (int i = 1; i < count; ++i) {
            const std::string given = kernels[i];
            const size_t dot_at = std::min(given.find('.'), given.size());
            const std::string kernel = given.substr(0, dot_at);
            const std::string tested_type = dot_at < given.size() ? given.substr(dot_at + 1) : "";
            for (const bool dot : {false, true}) {
                if (dot && (!device.has_dot() || !tested_type.empty())) continue;
                traits.dot = dot;
                const bool right = computes(device, kernel.c_str(), tested_type.c_str(), traits);
                std::printf("%s %s\n", kernels[i], right ? "right" : "wrong");
            }
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
