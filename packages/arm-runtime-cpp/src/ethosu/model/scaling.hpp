// Scaling: a product, a rounding constant, a shift.
#pragma once

#include <cstdint>

namespace arm_runtime::ethosu {

enum class Rounding : uint8_t { kDouble = 0, kTruncate = 1, kNatural = 2 };

/// (value * scale + r) >> shift with r by `mode`: kDouble is TFLite's two roundings in one,
/// kTruncate goes towards 0, kNatural rounds halves up. Returns false where a value of 64 bits
/// overflows. `shift` is below 64.
inline bool scale_value(int64_t value, int64_t scale, uint32_t shift, Rounding mode,
                        int64_t& result) {
    int64_t product, sum;
    if (__builtin_mul_overflow(value, scale, &product)) return false;
    int64_t r = shift == 0 ? 0 : int64_t{1} << (shift - 1);
    if (mode == Rounding::kDouble) {
        if (shift > 31) r += value >= 0 ? int64_t{1} << 30 : -(int64_t{1} << 30);
    } else if (mode == Rounding::kTruncate) {
        r = value >= 0 ? 0 : static_cast<int64_t>((uint64_t{1} << shift) - 1);
    }
    if (__builtin_add_overflow(product, r, &sum)) return false;
    result = sum >> shift;
    return true;
}

}  // namespace arm_runtime::ethosu
