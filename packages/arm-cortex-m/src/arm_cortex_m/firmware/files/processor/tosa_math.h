/* Integer arithmetic of TOSA 1.0, one number at a time, for operators on the processor. Names are the specification's.

   A sum that does not fit wraps around: TOSA leaves it open what it is, and C must not be left open to do anything.
   What C11 leaves to the compiler is taken for what GCC, Clang and Arm's compiler do: a number that does not fit an
   integer type is cut to its low bits, and a right shift of a negative number keeps its sign. */
#ifndef TOSA_MATH_H
#define TOSA_MATH_H

#include <stdint.h>

/* Before each kernel: it stays a function of its own, which debuggers and the sizes that the build prints can name. */
#ifndef TOSA_KERNEL
#define TOSA_KERNEL __attribute__((noinline))
#endif

static inline int32_t tosa_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

static inline int32_t tosa_sub(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

static inline int32_t tosa_max(int32_t a, int32_t b) { return a > b ? a : b; }

static inline int32_t tosa_min(int32_t a, int32_t b) { return a < b ? a : b; }

static inline int32_t tosa_clamp(int32_t value, int32_t least, int32_t most) {
    return tosa_min(tosa_max(value, least), most);
}

static inline int32_t tosa_abs(int32_t value) {
    return value == INT32_MIN ? INT32_MAX : (value < 0 ? -value : value);
}

static inline int32_t tosa_clz(int32_t value) {
    int32_t zeros = 32;

    for (uint32_t bits = (uint32_t)value; bits != 0u; bits >>= 1) {
        zeros--;
    }
    return zeros;
}

/* Rounds towards zero. Division by zero is no valid program; it gives 0 rather than a fault. */
static inline int32_t tosa_intdiv(int32_t a, int32_t b) {
    if (b == 0) {
        return 0;
    }
    return b == -1 ? tosa_sub(0, a) : a / b;
}

/* MUL of INT32. */
static inline int32_t tosa_mul(int32_t a, int32_t b, int32_t shift) {
    const int64_t product = (int64_t)a * b;

    return (int32_t)(shift == 0 ? product : (product + ((int64_t)1 << (shift - 1))) >> shift);
}

/* ARITHMETIC_RIGHT_SHIFT with round = true. */
static inline int32_t tosa_rounded_right_shift(int32_t value, int32_t shift) {
    return shift == 0 ? value : tosa_add(value >> shift, (value >> (shift - 1)) & 1);
}

/* apply_scale_32 with SINGLE_ROUND. Of a factor that is a constant power of two, shifts are left. */
static inline __attribute__((always_inline)) int32_t tosa_scale_32(int32_t value, int32_t multiplier, int32_t shift) {
    if (__builtin_constant_p(multiplier) && multiplier == 1 << 30 && __builtin_constant_p(shift) && shift < 62) {
        return shift <= 30 ? (int32_t)((uint32_t)value << (30 - shift)) : tosa_rounded_right_shift(value, shift - 30);
    }
    return (int32_t)(((int64_t)value * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

/* apply_scale_32 with DOUBLE_ROUND. */
static inline int32_t tosa_scale_32_double_round(int32_t value, int32_t multiplier, int32_t shift) {
    int64_t round = (int64_t)1 << (shift - 1);

    if (shift > 31) {
        round += value >= 0 ? (int64_t)1 << 30 : -((int64_t)1 << 30);
    }
    return (int32_t)(((int64_t)value * multiplier + round) >> shift);
}

/* The mean of AVG_POOL2D: apply_scale_32 with the factor that reciprocal_scale has for a number of pixels, 1 or more. */
static inline int32_t tosa_mean(int32_t sum, uint32_t count) {
    const int32_t bits = 32 - tosa_clz((int32_t)(count - 1u));
    const uint64_t numerator = (((uint64_t)1 << 30) + 1u) << bits;

    return tosa_scale_32(sum, (int32_t)(numerator / count), 30 + bits);
}

/* apply_scale_16. */
static inline int32_t tosa_scale_16(int64_t value, int32_t multiplier, int32_t shift) {
    return (int32_t)((value * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

/* TABLE of INT16: 513 numbers, between which it interpolates with 7 bits. */
static inline int32_t tosa_interpolate(const int16_t *table, int32_t value) {
    const int32_t index = (value >> 7) + 256;
    const int32_t base = table[index];

    return base * 128 + (table[index + 1] - base) * (value & 0x7F);
}

/* Where RESIZE looks: the whole and the fractional part of position / unit, rounded down. */
static inline int32_t tosa_floor_div(int32_t position, int32_t unit) {
    return position >= 0 ? position / unit : -((unit - 1 - position) / unit);
}

#endif
