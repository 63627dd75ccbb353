#include "fast_weight_decoder.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr size_t kHeader = 32;  // bytes
constexpr size_t kZeroPointAt = 13;
constexpr uint32_t kPaletteAtBit = 112, kPaletteBits = 9, kPalette = 16;

}  // namespace

DecodedWeights decode_fast_weights(const uint8_t* stream, size_t size, int16_t* out,
                                   size_t capacity) {
    if (size == 0) return {0, nullptr};
    if (size < kHeader) return {0, "no room for its header"};
    const bool raw = (stream[0] & 1) != 0, small = (stream[0] & 2) != 0;
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign is meant
    const int zero_point = static_cast<int8_t>(stream[kZeroPointAt]);
    int16_t palette[kPalette];
    for (uint32_t i = 0; i < kPalette; ++i) {
        const uint32_t bit = kPaletteAtBit + kPaletteBits * i;
        const uint32_t word = stream[bit / 8] | uint32_t{stream[bit / 8 + 1]} << 8;
        const int code = static_cast<int>(word >> bit % 8 & ((1U << kPaletteBits) - 1));
        palette[i] = static_cast<int16_t>((code & 1) != 0 ? -(code >> 1) : code >> 1);
    }
    const uint32_t bits = raw ? 8 : small ? 2 : 4, per_byte = 8 / bits;
    const size_t count = (size - kHeader) * per_byte;
    for (size_t i = 0; i < count && i < capacity; ++i) {
        const uint32_t byte = stream[kHeader + i / per_byte];
        const uint32_t code = byte >> bits * (i % per_byte) & ((1U << bits) - 1);
        out[i] = raw ? static_cast<int16_t>(static_cast<int8_t>(code) - zero_point) : palette[code];
    }
    return {count, nullptr};
}

}  // namespace arm_runtime::ethosu
