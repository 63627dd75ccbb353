#include "ethosu/model/scaling.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::ethosu {
namespace {

TEST(Scaling, RoundsHalvesAsTheNameSays) {
    constexpr int64_t kValues[] = {-3, -2, -1, 0, 1, 2, 3};  // of halves
    struct Row {
        const char* name;
        Rounding rounding;
        int64_t expected[7];
    };
    constexpr Row kRows[] = {
        {"natural", Rounding::kNatural, {-1, -1, 0, 0, 1, 1, 2}},
        {"symmetric", Rounding::kSymmetric, {-2, -1, -1, 0, 1, 1, 2}},
        {"towards zero", Rounding::kTowardsZero, {-1, -1, 0, 0, 0, 1, 1}},
        {"down", Rounding::kDown, {-2, -1, -1, 0, 0, 1, 1}},
    };
    for (const Row& row : kRows) {
        for (int i = 0; i < 7; ++i) {
            int64_t result = 99;
            EXPECT_TRUE(make_scale(1, 1, row.rounding).apply(kValues[i], result));
            EXPECT_EQ(result, row.expected[i]) << row.name << " of " << kValues[i] << " / 2";
        }
    }
}

/// TFLite's two steps: the upper half of a doubled product of 32 bits, halves up; then a shift,
/// halves away from 0.
int64_t two_roundings(int64_t value, int64_t factor, uint32_t shift) {
    const int64_t product = value * factor;
    const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
    const int64_t high = (product + nudge) / (int64_t{1} << 31);
    const int64_t divisor = int64_t{1} << (shift - 31), half = divisor / 2;
    return high >= 0 ? (high + half) / divisor : -((half - high) / divisor);
}

TEST(Scaling, DoubleSymmetricIsBothRoundingsOfTFLite) {
    constexpr int64_t kFactors[] = {int64_t{1} << 30, 1518500250, INT32_MAX};
    constexpr int64_t kValues[] = {INT32_MIN, -100000, -513, -3,    -1,       0,
                                   1,         3,       511,  77777, INT32_MAX};
    for (const int64_t factor : kFactors) {
        for (uint32_t shift = 32; shift <= 40; ++shift) {
            const Scale scale = make_scale(factor, shift, Rounding::kDoubleSymmetric);
            for (const int64_t value : kValues) {
                int64_t result = 0;
                EXPECT_TRUE(scale.apply(value, result));
                EXPECT_EQ(result, two_roundings(value, factor, shift))
                    << value << " * " << factor << " >> " << shift;
            }
        }
    }
}

TEST(Scaling, TheFirstRoundingDecidesAtAQuarter) {
    // 1/4 is rounded to 1/2 and that to 1; with the first rounding one bit earlier it is not.
    constexpr int64_t kQuarter = int64_t{1} << 30;
    struct Row {
        Rounding rounding;
        uint32_t early;
        int64_t value, expected;
    };
    constexpr Row kRows[] = {
        {Rounding::kDoubleSymmetric, 0, kQuarter, 1},
        {Rounding::kDoubleSymmetric, 0, kQuarter - 1, 0},
        {Rounding::kDoubleSymmetric, 1, kQuarter, 0},
        {Rounding::kDoubleSymmetric, 0, -3 * kQuarter, -1},
        {Rounding::kDoubleAsymmetric, 0, -3 * kQuarter, 0},
    };
    for (const Row& row : kRows) {
        int64_t result = 99;
        EXPECT_TRUE(make_scale(1, 32, row.rounding, row.early).apply(row.value, result));
        EXPECT_EQ(result, row.expected) << row.value << ", " << row.early << " earlier";
    }
}

TEST(Scaling, TellsWhereSixtyFourBitsOverflow) {
    struct Row {
        const char* name;
        Scale scale;
        int64_t value;
        bool fits;
    };
    constexpr Row kRows[] = {
        {"the product", {INT64_MAX, 1, 0, 0}, 2, false},
        {"the product, just not", {INT64_MAX, 1, 0, 0}, 1, true},
        {"the sum", {1, 1, 1, 0}, INT64_MAX, false},
        {"the sum, below 0", {1, 1, 0, -1}, INT64_MIN, false},
        {"the constant of the other sign", {1, 1, 0, -1}, INT64_MAX, true},
    };
    for (const Row& row : kRows) {
        int64_t result = 0;
        EXPECT_EQ(row.scale.apply(row.value, result), row.fits) << row.name;
    }
}

TEST(Scaling, OnlyAFactorOfOneWithoutShiftIsTheIdentity) {
    EXPECT_TRUE(make_scale(1, 0, Rounding::kDoubleSymmetric).is_identity());
    EXPECT_FALSE(make_scale(2, 0, Rounding::kDoubleSymmetric).is_identity());
    EXPECT_FALSE(make_scale(1, 1, Rounding::kDoubleSymmetric).is_identity());
}

}  // namespace
}  // namespace arm_runtime::ethosu
