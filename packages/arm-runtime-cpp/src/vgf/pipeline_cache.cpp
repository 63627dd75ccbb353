#include "pipeline_cache.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace arm_runtime::vgf {
namespace {

namespace fs = std::filesystem;

/// FNV-1a, to tell a whole file from a cut or changed one: drivers trust what they are given.
uint64_t checksum(const char* data, size_t size) {
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; ++i) sum = (sum ^ static_cast<uint8_t>(data[i])) * 0x100000001b3;
    return sum;
}

std::string hexadecimal(const uint8_t* data, size_t size) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < size; ++i) {
        text += kDigits[data[i] >> 4];
        text += kDigits[data[i] & 15];
    }
    return text;
}

/// The file's contents without the checksum at its end; empty if that does not fit.
std::vector<char> read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> data((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    uint64_t sum = 0;
    if (data.size() < sizeof(sum)) return {};
    const size_t size = data.size() - sizeof(sum);
    std::memcpy(&sum, data.data() + size, sizeof(sum));
    if (sum != checksum(data.data(), size)) return {};
    data.resize(size);
    return data;
}

}  // namespace

PipelineCache::PipelineCache(const DeviceCalls& calls, VkDevice device,
                             const VkPhysicalDeviceProperties& properties,
                             const std::string& folder)
    : calls_(calls), device_(device) {
    std::vector<char> data;
    if (!folder.empty()) {
        file_ = fs::path(folder) /
                ("vgf-" + hexadecimal(properties.pipelineCacheUUID, VK_UUID_SIZE) + "-" +
                 std::to_string(properties.vendorID) + "-" + std::to_string(properties.deviceID) +
                 "-" + std::to_string(properties.driverVersion) + ".bin");
        data = read(file_);
        saved_ = data.size();
    }
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    handle_ = make<VkPipelineCache>(device, calls.CreatePipelineCache, calls.DestroyPipelineCache,
                                    info, "vkCreatePipelineCache");
}

void PipelineCache::save() {
    size_t size = 0;
    if (file_.empty() ||
        calls_.GetPipelineCacheData(device_, handle_, &size, nullptr) != VK_SUCCESS ||
        size == saved_) {
        return;
    }
    std::vector<char> data(size);
    if (calls_.GetPipelineCacheData(device_, handle_, &size, data.data()) != VK_SUCCESS) return;
    const uint64_t sum = checksum(data.data(), size);
    std::error_code failed;
    fs::create_directories(file_.parent_path(), failed);
    const fs::path temporary = file_.string() + "." + std::to_string(getpid());
    std::ofstream out(temporary, std::ios::binary);
    out.write(data.data(), static_cast<std::streamsize>(size));
    out.write(reinterpret_cast<const char*>(&sum), sizeof(sum));
    out.close();
    if (out) fs::rename(temporary, file_, failed);
    if (!out || failed) {
        fs::remove(temporary, failed);
        return;
    }
    saved_ = size;
}

}  // namespace arm_runtime::vgf
