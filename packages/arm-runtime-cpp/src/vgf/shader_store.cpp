#include "shader_store.hpp"

#include <cstring>

namespace arm_runtime::vgf {
namespace {

/// Before each shader in the file: its key, and its length in words.
constexpr size_t kRecord = 3, kRecordBytes = kRecord * sizeof(uint64_t);

template <typename T>
void append(std::vector<char>& out, const T* values, size_t count) {
    const auto* const bytes = reinterpret_cast<const char*>(values);
    out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace

ShaderKey key_of(const uint32_t* code, size_t words) {
    uint64_t one = 0xcbf29ce484222325 ^ words;
    uint64_t two = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < words; ++i) {
        one = (one ^ code[i]) * 0x100000001b3;
        two = (two + code[i]) * 0xd6e8feb86659fd93;
        two ^= two >> 32;
    }
    return {one, two};
}

ShaderStore::ShaderStore(CacheFile file) : file_(std::move(file)) {
    const std::vector<char> data = file_.read();
    uint64_t record[kRecord];
    for (size_t at = 0; data.size() - at >= kRecordBytes;) {
        std::memcpy(record, data.data() + at, kRecordBytes);
        at += kRecordBytes;
        const uint64_t words = record[2];
        if (words == 0 || words > (data.size() - at) / sizeof(uint32_t)) break;
        std::vector<uint32_t> code(words);
        std::memcpy(code.data(), data.data() + at, words * sizeof(uint32_t));
        at += words * sizeof(uint32_t);
        shaders_[{record[0], record[1]}] = std::move(code);
    }
}

const std::vector<uint32_t>* ShaderStore::find(const ShaderKey& key) const {
    const auto found = shaders_.find(key);
    return found == shaders_.end() ? nullptr : &found->second;
}

void ShaderStore::add(const ShaderKey& key, std::vector<uint32_t> translated) {
    shaders_[key] = std::move(translated);
    changed_ = true;
}

void ShaderStore::save() {
    if (!changed_) return;
    std::vector<char> data;
    for (const auto& [key, code] : shaders_) {
        const uint64_t record[kRecord] = {key.first, key.second, code.size()};
        append(data, record, kRecord);
        append(data, code.data(), code.size());
    }
    if (file_.write(data)) changed_ = false;
}

}  // namespace arm_runtime::vgf
