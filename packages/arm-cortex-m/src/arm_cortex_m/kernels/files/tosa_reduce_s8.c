#include "tosa_reduce_s8.h"

#if defined(TOSA_HELIUM)

static inline int8x16_t greater_or_less(int8x16_t a, int8x16_t b, int32_t greatest) {
    return greatest != 0 ? vmaxq_s8(a, b) : vminq_s8(a, b);
}

void tosa_extreme_s8(const struct tosa_extreme_s8 *extreme, int8_t *output, const int8_t *input) {
    const size_t length = (size_t)extreme->length, inner = (size_t)extreme->inner;
    const int32_t greatest = extreme->greatest;
    const int8_t neutral = greatest != 0 ? INT8_MIN : INT8_MAX;

    for (int32_t i = 0; i < extreme->outer; i++) {
        for (size_t j = 0; inner > 1u && j < inner; j += 16u) {
            const mve_pred16_t some = vctp8q((uint32_t)(inner - j));
            int8x16_t found = vdupq_n_s8(neutral);

            for (size_t k = 0; k < length; k++) {
                found = greater_or_less(found, vldrbq_z_s8(&input[k * inner + j], some), greatest);
            }
            vstrbq_p_s8(&output[j], found, some);
        }
        if (inner == 1u) {
            int8x16_t found = vdupq_n_s8(neutral);

            for (size_t k = 0; k < length; k += 16u) {
                const mve_pred16_t some = vctp8q((uint32_t)(length - k));

                found = greater_or_less(found, vpselq_s8(vldrbq_z_s8(&input[k], some), found, some), greatest);
            }
            *output = greatest != 0 ? vmaxvq_s8(neutral, found) : vminvq_s8(neutral, found);
        }
        input += length * inner;
        output += inner;
    }
}

void tosa_sum_s8(const struct tosa_sum_s8 *sum, int8_t *output, const int8_t *input) {
    const size_t length = (size_t)sum->length, inner = (size_t)sum->inner;
    const int32_t offset = -sum->length * sum->input_zero_point;

    for (int32_t i = 0; i < sum->outer; i++) {
        for (size_t j = 0; j < inner; j += 4u) {
            const mve_pred16_t some = vctp32q((uint32_t)(inner - j));
            int32x4_t sums = vdupq_n_s32(offset);

            if (inner == 1u) {
                int32_t all = offset;

                for (size_t k = 0; k < length; k += 16u) {
                    all = vaddvaq_s8(all, vldrbq_z_s8(&input[k], vctp8q((uint32_t)(length - k))));
                }
                sums = vdupq_n_s32(all);
            } else {
                for (size_t k = 0; k < length; k++) {
                    sums = vaddq_s32(sums, vldrbq_z_s32(&input[k * inner + j], some));
                }
            }
            sums = vmulhq_s32(vshlq_r_s32(sums, sum->left), vdupq_n_s32(sum->multiplier));
            sums = vaddq_n_s32(vrshlq_n_s32(sums, sum->shift), sum->zero_point);
            sums = vminq_s32(vmaxq_s32(sums, vdupq_n_s32(sum->least)), vdupq_n_s32(sum->most));
            vstrbq_p_s32(&output[j], sums, some);
        }
        input += length * inner;
        output += inner;
    }
}

#else

void tosa_extreme_s8(const struct tosa_extreme_s8 *extreme, int8_t *output, const int8_t *input) {
    const size_t length = (size_t)extreme->length, inner = (size_t)extreme->inner;

    for (int32_t i = 0; i < extreme->outer; i++) {
        for (size_t j = 0; j < inner; j++) {
            int8_t found = input[j];

            for (size_t k = 1; k < length; k++) {
                const int8_t number = input[k * inner + j];

                if (extreme->greatest != 0 ? number > found : number < found) {
                    found = number;
                }
            }
            *output++ = found;
        }
        input += length * inner;
    }
}

void tosa_sum_s8(const struct tosa_sum_s8 *sum, int8_t *output, const int8_t *input) {
    const size_t length = (size_t)sum->length, inner = (size_t)sum->inner;

    for (int32_t i = 0; i < sum->outer; i++) {
        for (size_t j = 0; j < inner; j++) {
            int32_t all = -sum->length * sum->input_zero_point, high;

            for (size_t k = 0; k < length; k++) {
                all += input[k * inner + j];
            }
            high = tosa_high_product((int32_t)((uint32_t)all << sum->left), sum->multiplier);
            high = ((high >> ~sum->shift) + 2 * sum->zero_point + 1) >> 1;
            *output++ = (int8_t)tosa_bounded(high, sum->least, sum->most);
        }
        input += length * inner;
    }
}

#endif
