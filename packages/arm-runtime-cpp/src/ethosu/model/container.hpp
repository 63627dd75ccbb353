// The driver payload that Vela writes around a command stream: "COP1" and driver actions, or "COP2"
// (vela --cop-format) and entries.
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
    const uint8_t* bytes() const { return data_; }
    uint32_t operator[](size_t i) const {
        const uint8_t* p = data_ + 4 * i;
        return p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
    }
    Words part(size_t first, size_t count) const { return {data_ + 4 * first, count}; }

  private:
    const uint8_t* data_ = nullptr;
    size_t count_ = 0;
};

/// What a payload holds. `configuration` is the value that the NPU's CONFIG register must have in
/// the bits that say which accelerator it is: log2 of the MACs in bits 3 to 0, the product in bits
/// 31 to 28 (0, 1, 2 for U55, U65, U85).
struct Container {
    bool configured = false;
    uint32_t configuration = 0;
    Words stream;  ///< the commands themselves

    uint32_t product() const { return configuration >> 28; }
    uint32_t macs() const { return uint32_t{1} << (configuration & 0xF); }
};

/// Reads the first command stream, and what configuration comes before it. Returns what is wrong,
/// or nullptr.
const char* read_container(const uint8_t* payload, size_t size, Container& container);

}  // namespace arm_runtime::ethosu
