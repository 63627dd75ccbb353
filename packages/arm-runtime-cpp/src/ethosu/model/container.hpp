// The driver payload that Vela writes around a command stream.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arm_runtime::ethosu {

/// Little-endian 32-bit words at any alignment.
class Words {
  public:
    Words() = default;
    Words(const uint8_t* data, size_t count) : data_(data), count_(count) {}
    size_t size() const { return count_; }
    uint32_t operator[](size_t i) const {
        const uint8_t* p = data_ + 4 * i;
        return p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
    }
    Words part(size_t first, size_t count) const { return {data_ + 4 * first, count}; }

  private:
    const uint8_t* data_ = nullptr;
    size_t count_ = 0;
};

/// Finds the command stream in a payload. Returns what is wrong with it, or nullptr.
const char* find_command_stream(const uint8_t* payload, size_t size, Words& stream);

}  // namespace arm_runtime::ethosu
