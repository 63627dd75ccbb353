#include "cache_file.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace arm_runtime::vgf {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = uintmax_t{1} << 30;  // many times what drivers keep

uint64_t checksum(const char* data, size_t size) {
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; ++i) sum = (sum ^ static_cast<uint8_t>(data[i])) * 0x100000001b3;
    return sum;
}

std::vector<char> CacheFile::read() const {
    // What is there may be a folder, or a link to a device without end.
    std::error_code failed;
    if (path_.empty() || !fs::is_regular_file(path_, failed)) return {};
    if (const uintmax_t size = fs::file_size(path_, failed); failed || size > kMostBytes) return {};
    std::ifstream file(path_, std::ios::binary);
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

bool CacheFile::write(const std::vector<char>& data) const {
    if (path_.empty()) return false;
    const uint64_t sum = checksum(data.data(), data.size());
    std::error_code failed;
    fs::create_directories(path_.parent_path(), failed);
    // No other process, and no other device of this one, writes a file of that name.
    static std::atomic<unsigned> written{0};
    const fs::path temporary =
        path_.string() + "." + std::to_string(getpid()) + "." + std::to_string(written++);
    std::ofstream out(temporary, std::ios::binary);
    out.write(data.data(), static_cast<std::streamsize>(data.size()));
    out.write(reinterpret_cast<const char*>(&sum), sizeof(sum));
    out.close();
    failed.clear();
    if (out) fs::rename(temporary, path_, failed);
    if (out && !failed) return true;
    fs::remove(temporary, failed);
    return false;
}

}  // namespace arm_runtime::vgf
