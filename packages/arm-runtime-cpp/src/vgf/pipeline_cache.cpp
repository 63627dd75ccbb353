#include "pipeline_cache.hpp"

#include <vector>

namespace arm_runtime::vgf {
namespace {

std::string hexadecimal(const uint8_t* data, size_t size) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < size; ++i) {
        text += kDigits[data[i] >> 4];
        text += kDigits[data[i] & 15];
    }
    return text;
}

}  // namespace

std::string cache_key(const vk::PhysicalDeviceProperties& properties) {
    return hexadecimal(properties.pipelineCacheUUID.data(), VK_UUID_SIZE) + "-" +
           std::to_string(properties.vendorID) + "-" + std::to_string(properties.deviceID) + "-" +
           std::to_string(properties.driverVersion);
}

PipelineCache::PipelineCache(const vk::raii::Device& device, CacheFile file)
    : file_(std::move(file)) {
    const std::vector<char> data = file_.read();
    saved_ = data.size();
    handle_ = {device, vk::PipelineCacheCreateInfo().setInitialData<char>(data)};
}

void PipelineCache::save() {
    const std::vector<uint8_t> data = handle_.getData();
    if (data.size() != saved_ && file_.write({data.begin(), data.end()})) saved_ = data.size();
}

}  // namespace arm_runtime::vgf
