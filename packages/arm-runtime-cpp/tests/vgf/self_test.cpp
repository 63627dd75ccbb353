// vgf_self_test KERNEL...: runs the self-test of each kernel and prints whether it is right,
// without integer dot products and, if the device has them, with.
#include "vgf/self_test.hpp"

#include <cstdio>

#include "vgf/device_traits.hpp"

int main(int count, char** kernels) {
    using namespace arm_runtime::vgf;
    try {
        Options options = options_from_environment();
        options.engine = EngineKind::kCompute;
        Device& device = Device::get(options);
        DeviceTraits traits = traits_of(device);
        for (int i = 1; i < count; ++i) {
            for (const bool dot : {false, true}) {
                if (dot && !device.has_dot()) continue;
                traits.dot = dot;
                const bool right = computes(device, kernels[i], traits);
                std::printf("%s %s\n", kernels[i], right ? "right" : "wrong");
            }
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
