#include "device_traits.hpp"

#include <algorithm>
#include <iterator>

namespace arm_runtime::vgf {
namespace {

/// Threads that keep devices of a class busy. The first row that fits counts; no vendor: any. Of
/// discrete GPUs it was measured on an H100; a GPU beside a processor has about a quarter of the
/// threads.
struct DeviceClass {
    vk::PhysicalDeviceType type;
    uint32_t vendor;
    int64_t threads;
};

constexpr uint32_t kAnyVendor = 0;
constexpr DeviceClass kClasses[] = {
    {vk::PhysicalDeviceType::eCpu, kAnyVendor, 1},
    {vk::PhysicalDeviceType::eIntegratedGpu, kAnyVendor, 8192},
};
constexpr int64_t kThreads = 32768;  // of all others

}  // namespace

DeviceTraits traits_of(const Device& device) {
    DeviceTraits traits;
    traits.dot = device.has_dot();
    traits.matrix = device.matrix_units();
    if (find_optional_kernel("matrix_int8", false) == nullptr) traits.matrix.int8 = 0;
    if (find_optional_kernel("matrix_fp16", false) == nullptr) traits.matrix.fp16 = 0;
    traits.max_threads = device.max_workgroup();
    traits.shared_bytes = device.limits().maxComputeSharedMemorySize;
    const auto* const found =
        std::find_if(std::begin(kClasses), std::end(kClasses), [&](const DeviceClass& row) {
            return row.type == device.type() &&
                   (row.vendor == kAnyVendor || row.vendor == device.vendor());
        });
    traits.threads = found == std::end(kClasses) ? kThreads : found->threads;
    return traits;
}

}  // namespace arm_runtime::vgf
