// Hosts run networks on the functional model, with threads, or on the NPU that ARM_ETHOSU_DEVICE
// names.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../host_threads.hpp"
#include "linux_network.hpp"
#include "model_network.hpp"
#ifdef ARM_RUNTIME_ETHOSU_DRIVER_LIBRARY
#include "driver_library_network.hpp"
#endif

namespace arm_runtime::ethosu {
namespace {

/// More than any Vela configuration has; pages that nothing touches cost nothing.
constexpr size_t kFastMemory = 4 << 20;

Network* open_on_device(const char* device, const Payload& payload, const Allocator& allocator,
                        Report report) {
    if (std::strncmp(device, "/dev/ethosu", 11) != 0)
        return open_on_linux(device, payload, allocator, report);
#ifdef ARM_RUNTIME_ETHOSU_DRIVER_LIBRARY
    return open_on_driver_library(device, payload, allocator, report);
#else
    report(
        "/dev/ethosuN is Arm's Linux driver stack, and this arm-runtime-cpp was built without its "
        "user library: build it with -DETHOSU_LINUX_DRIVER_INCLUDE_DIR=... and "
        "-DETHOSU_LINUX_DRIVER_LIBRARY=..., or use the kernel's own driver, /dev/accel/accelN");
    return nullptr;
#endif
}

}  // namespace

Network* open_network(const Payload& payload, const Allocator& allocator, Report report) {
    const char* device = std::getenv("ARM_ETHOSU_DEVICE");
    if (device != nullptr && device[0] != 0)
        return open_on_device(device, payload, allocator, report);
    const uint32_t workers = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
    return open_on_model(payload, allocator, {workers, run_threads, nullptr}, kFastMemory, report);
}

}  // namespace arm_runtime::ethosu
