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

std::string cache_key(const VkPhysicalDeviceProperties& properties) {
    return hexadecimal(properties.pipelineCacheUUID, VK_UUID_SIZE) + "-" +
           std::to_string(properties.vendorID) + "-" + std::to_string(properties.deviceID) + "-" +
           std::to_string(properties.driverVersion);
}

PipelineCache::PipelineCache(const DeviceCalls& calls, VkDevice device, CacheFile file)
    : calls_(calls), device_(device), file_(std::move(file)) {
    const std::vector<char> data = file_.read();
    saved_ = data.size();
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    handle_ = make<VkPipelineCache>(device, calls.CreatePipelineCache, calls.DestroyPipelineCache,
                                    info, "vkCreatePipelineCache");
}

void PipelineCache::save() {
    size_t size = 0;
    if (calls_.GetPipelineCacheData(device_, handle_, &size, nullptr) != VK_SUCCESS ||
        size == saved_) {
        return;
    }
    std::vector<char> data(size);
    if (calls_.GetPipelineCacheData(device_, handle_, &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    if (file_.write(data)) saved_ = size;
}

}  // namespace arm_runtime::vgf
