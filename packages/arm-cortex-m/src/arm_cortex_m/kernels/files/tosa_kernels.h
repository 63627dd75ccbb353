/* What kernels of whole TOSA operators share: the choice of a core's instructions, copies, and exact rescaling.

   TOSA_HELIUM: vectors (Cortex-M55, M85). TOSA_DSP: two products of 16 bits at once (Cortex-M4, M7, M33 and M35P with
   the extension). Neither: C as it is. The results are the same, bit for bit. What C11 leaves to the compiler is taken
   for what GCC, Clang and Arm's compiler do: a right shift of a negative number keeps its sign. Without optimization
   the instructions written out here find too few registers: such a build has C alone. */
#ifndef TOSA_KERNELS_H
#define TOSA_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE) && defined(__OPTIMIZE__)
#define TOSA_HELIUM 1
#include <arm_mve.h>
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32) && defined(__OPTIMIZE__)
#define TOSA_DSP 1
#include <arm_acle.h>
#endif

/* A function that is compiled anew for each call, so that an argument that is a constant is one in it. */
#define TOSA_INLINE static inline __attribute__((always_inline))

/* The rescaling of sums to int8 or int16, for each output channel. A sum v becomes

       clamp(zero_point + ((v << left) * multiplier + 2^(31 + s) >> (32 + s)))     with s = -shift,

   which is TOSA's RESCALE: the compiler of the model has made sure that v << left fits, and that s is from 1 to 31. */
struct tosa_rescale {
    const int32_t *biases;      /* added to the sums: the operator's, less the input's zero point times all weights */
    const int32_t *multipliers; /* at least 0 */
    const int8_t *shifts;       /* -s */
    int32_t left;
    int32_t double_round; /* apply_scale_32 with DOUBLE_ROUND; left is 0 then */
    int32_t zero_point;
    int32_t least; /* the bounds of the result, of its type or of a CLAMP behind */
    int32_t most;
};

/* A number v becomes (v << left) * multiplier + 2^(31 + s) >> (32 + s) with s = -shift from 1 to 31. */
struct tosa_scale {
    int32_t left;
    int32_t multiplier; /* at least 0 */
    int32_t shift;      /* -s */
};

static inline int32_t tosa_high_product(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b) >> 32); }

static inline int32_t tosa_bounded(int32_t value, int32_t least, int32_t most) {
    const int32_t raised = value < least ? least : value;

    return raised > most ? most : raised;
}

/* Less the bounds. */
static inline int32_t tosa_scaled(const struct tosa_scale *scale, int32_t value) {
    const int32_t high = tosa_high_product((int32_t)((uint32_t)value << scale->left), scale->multiplier);

    return ((high >> ~scale->shift) + 1) >> 1;
}

/* One sum, without its bias. */
static inline int32_t tosa_rescaled32(const struct tosa_rescale *rescale, size_t channel, int32_t sum) {
    const int32_t value = sum + rescale->biases[channel];
    const int32_t multiplier = rescale->multipliers[channel];
    int32_t high;

    if (rescale->double_round != 0) {
        const int64_t nudge = (int64_t)1 << 30;

        high = (int32_t)(((int64_t)value * multiplier + (value < 0 ? -nudge : nudge)) >> 32);
    } else {
        high = tosa_high_product((int32_t)((uint32_t)value << rescale->left), multiplier);
    }
    /* (high >> (s - 1)) + 1 >> 1 rounds as (high + 2^(s - 1)) >> s does, and takes the zero point along. */
    high = ((high >> ~rescale->shifts[channel]) + 2 * rescale->zero_point + 1) >> 1;
    return tosa_bounded(high, rescale->least, rescale->most);
}

static inline int8_t tosa_rescaled(const struct tosa_rescale *rescale, size_t channel, int32_t sum) {
    return (int8_t)tosa_rescaled32(rescale, channel, sum);
}

#if defined(TOSA_HELIUM)
static inline int32x4_t tosa_scaled4(const struct tosa_scale *scale, int32x4_t values) {
    const int32x4_t high = vmulhq_s32(vshlq_r_s32(values, scale->left), vdupq_n_s32(scale->multiplier));

    return vrshlq_n_s32(high, scale->shift);
}

/* The same as tosa_rescaled32 of four channels, or of four sums of one channel, in steps; the sums have their biases
   already. */
static inline int32x4_t tosa_high4(int32x4_t sums, int32_t left, int32x4_t multipliers) {
    return vmulhq_s32(vshlq_r_s32(sums, left), multipliers);
}

static inline int32x4_t tosa_high4_double_round(int32x4_t sums, int32x4_t multipliers) {
    return vshrq_n_s32(vaddq_s32(vqrdmulhq_s32(sums, multipliers), vshrq_n_s32(sums, 31)), 1);
}

static inline int32x4_t tosa_shifted4(const struct tosa_rescale *rescale, int32x4_t high, int32x4_t shifts) {
    const int32x4_t value = vaddq_n_s32(vrshlq_s32(high, shifts), rescale->zero_point);

    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(rescale->least)), vdupq_n_s32(rescale->most));
}

static inline int32x4_t tosa_rescaled4(const struct tosa_rescale *rescale, int32x4_t sums, int32x4_t multipliers,
                                       int32x4_t shifts) {
    const int32x4_t high = rescale->double_round != 0 ? tosa_high4_double_round(sums, multipliers)
                                                      : tosa_high4(sums, rescale->left, multipliers);

    return tosa_shifted4(rescale, high, shifts);
}
#endif

#if defined(TOSA_DSP)
static inline uint32_t tosa_word(const int8_t *bytes) {
    uint32_t word;

    (void)memcpy(&word, bytes, sizeof word); /* one load: these cores take any address */
    return word;
}

/* Whether tosa_saturated does for a rescaling what tosa_rescaled does. */
static inline int tosa_saturates(const struct tosa_rescale *rescale) {
    return rescale->double_round == 0 && rescale->least == INT8_MIN && rescale->most == INT8_MAX;
}

/* The same as tosa_rescaled for a sum with its bias; args: shift is s - 1, offset is 2 * zero_point + 1. */
static inline int32_t tosa_saturated(int32_t value, int32_t left, int32_t multiplier, int32_t shift, int32_t offset) {
    const int32_t high = tosa_high_product((int32_t)((uint32_t)value << left), multiplier);
    int32_t result;

    __asm__("ssat %0, #8, %1, asr #1" : "=r"(result) : "r"((high >> shift) + offset));
    return result;
}

/* The first and the third byte of a word as numbers of 16 bits; the second and the fourth. */
static inline uint32_t tosa_even_bytes(uint32_t word) {
    uint32_t halves;

    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(word));
    return halves;
}

static inline uint32_t tosa_odd_bytes(uint32_t word) {
    uint32_t halves;

    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
    return halves;
}
#endif

/* Copies bytes; short runs most of the time, for which a call of memcpy is dear. */
static inline void tosa_copy(int8_t *to, const int8_t *from, size_t count) {
#if defined(TOSA_HELIUM)
    register uint32_t left __asm__("lr") = (uint32_t)count;

    __asm__ volatile("wlstp.8 lr, lr, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[from]], #16\n"
                     "vstrb.8 q0, [%[to]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [to] "+r"(to), [from] "+r"(from), "+r"(left)
                     :
                     : "q0", "memory");
#elif defined(TOSA_DSP)
    for (; count >= 4u; count -= 4u) {
        const uint32_t word = tosa_word(from);

        (void)memcpy(to, &word, sizeof word);
        to += 4;
        from += 4;
    }
    for (; count != 0u; count--) {
        *to++ = *from++;
    }
#else
    (void)memcpy(to, from, count);
#endif
}

static inline void tosa_fill(int8_t *to, int32_t value, size_t count) {
#if defined(TOSA_HELIUM)
    register uint32_t left __asm__("lr") = (uint32_t)count;
    const int8x16_t values = vdupq_n_s8((int8_t)value);

    __asm__ volatile("wlstp.8 lr, lr, 2f\n"
                     "1:\n"
                     "vstrb.8 %q[values], [%[to]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [to] "+r"(to), "+r"(left)
                     : [values] "w"(values)
                     : "memory");
#else
    (void)memset(to, value, count);
#endif
}

#endif
