// Scaling: a product, a rounding constant, a shift.
#pragma once

#include <cstdint>

namespace arm_runtime::ethosu {

/// As Ethos-U85 numbers them; U55 and U65 have kDoubleSymmetric, kTowardsZero and kNatural.
enum class Rounding : uint8_t {
    kDoubleSymmetric,   ///< TFLite's two roundings in one
    kNatural,           ///< halves up
    kDoubleAsymmetric,  ///< the same for negative values as for positive ones
    kSymmetric,         ///< halves away from 0
    kTowardsZero,
    kDown,
};
constexpr uint32_t kRoundings = 6;

/// (value * factor + r) >> shift, where every rounding is a constant r for values from 0 up and one
/// for negative values.
struct Scale {
    int64_t factor = 1;
    uint32_t shift = 0;  ///< below 64
    int64_t positive = 0, negative = 0;

    bool is_identity() const { return factor == 1 && shift == 0; }
    /// False where 64 bits overflow.
    bool apply(int64_t value, int64_t& result) const {
        int64_t product = 0, sum = 0;
        const bool multiplied = !__builtin_mul_overflow(value, factor, &product);
        const bool added = !__builtin_add_overflow(product, value < 0 ? negative : positive, &sum);
        result = sum >> shift;
        return multiplied && added;
    }
};

/// `early` moves the first of the double roundings up: so many bits fewer are lost in it. At
/// most 30.
inline Scale make_scale(int64_t factor, uint32_t shift, Rounding rounding, uint32_t early = 0) {
    const int64_t half = shift == 0 ? 0 : int64_t{1} << (shift - 1);
    const int64_t first = shift > 31 - early ? int64_t{1} << (30 - early) : 0;
    switch (rounding) {
        case Rounding::kDoubleSymmetric:
            return {factor, shift, half + first, half - first};
        case Rounding::kDoubleAsymmetric:
            return {factor, shift, half + first, half + first};
        case Rounding::kNatural:
            return {factor, shift, half, half};
        case Rounding::kSymmetric:
            return {factor, shift, half, half - (shift == 0 ? 0 : 1)};
        case Rounding::kTowardsZero:
            return {factor, shift, 0, static_cast<int64_t>((uint64_t{1} << shift) - 1)};
        case Rounding::kDown:
            break;
    }
    return {factor, shift, 0, 0};
}

}  // namespace arm_runtime::ethosu
