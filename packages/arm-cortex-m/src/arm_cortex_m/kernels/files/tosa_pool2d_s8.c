#include "tosa_pool2d_s8.h"

static void max_place(const struct tosa_part *part, const int8_t *from, size_t channels, int8_t *output) {
    size_t channel = 0;

#if defined(TOSA_HELIUM)
    for (; channel < channels; channel += 16u) {
        const mve_pred16_t some = vctp8q((uint32_t)(channels - channel));
        const int8_t *row = &from[channel];
        int8x16_t most = vdupq_n_s8(INT8_MIN);

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                most = vmaxq_s8(most, vldrbq_z_s8(at, some));
                at += channels;
            }
            row += part->line;
        }
        vstrbq_p_s8(&output[channel], most, some);
    }
#else
#if defined(TOSA_DSP)
    for (; channel + 4u <= channels; channel += 4u) {
        const int8_t *row = &from[channel];
        uint32_t most = 0x80808080u;

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                const uint32_t word = tosa_word(at);

                (void)__ssub8((int8x4_t)word, (int8x4_t)most);
                most = (uint32_t)__sel(word, most);
                at += channels;
            }
            row += part->line;
        }
        (void)memcpy(&output[channel], &most, sizeof most);
    }
#endif
    for (; channel < channels; channel++) {
        int8_t most = INT8_MIN;

        for (size_t i = 0; i < part->rows; i++) {
            for (size_t j = 0; j < part->columns; j++) {
                const int8_t number = from[i * part->line + j * channels + channel];

                most = number > most ? number : most;
            }
        }
        output[channel] = most;
    }
#endif
}

void tosa_max_pool2d_s8(const struct tosa_max_pool2d_s8 *max_pool, int8_t *output, const int8_t *input) {
    const struct tosa_window *const window = &max_pool->pool.window;
    const size_t channels = (size_t)window->channels;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->out_height; y++) {
            for (int32_t x = 0; x < window->out_width; x++) {
                const struct tosa_part part = tosa_part_of(window, y, x);

                max_place(&part, &input[part.first], channels, output);
                output += channels;
            }
        }
        input += (size_t)window->height * (size_t)window->width * channels;
    }
}

#if defined(TOSA_HELIUM)

static inline void store_means(const struct tosa_mean *mean, int32x4_t sums, mve_pred16_t some, int8_t *output) {
    vstrbq_p_s32(output, tosa_means4(mean, sums, INT8_MIN, INT8_MAX), some);
}

static void mean_place(const struct tosa_part *part, const struct tosa_mean *mean, const int8_t *from, size_t channels,
                       int8_t *output) {
    size_t channel = 0;

    for (; channel + 16u <= channels; channel += 16u) {
        const mve_pred16_t all = vctp32q(4);
        const int8_t *row = &from[channel];
        int32x4_t sums0 = vdupq_n_s32(mean->offset), sums1 = sums0, sums2 = sums0, sums3 = sums0;

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                sums0 = vaddq_s32(sums0, vldrbq_s32(at));
                sums1 = vaddq_s32(sums1, vldrbq_s32(&at[4]));
                sums2 = vaddq_s32(sums2, vldrbq_s32(&at[8]));
                sums3 = vaddq_s32(sums3, vldrbq_s32(&at[12]));
                at += channels;
            }
            row += part->line;
        }
        store_means(mean, sums0, all, &output[channel]);
        store_means(mean, sums1, all, &output[channel + 4u]);
        store_means(mean, sums2, all, &output[channel + 8u]);
        store_means(mean, sums3, all, &output[channel + 12u]);
    }
    for (; channel < channels; channel += 4u) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
        const int8_t *row = &from[channel];
        int32x4_t sums = vdupq_n_s32(mean->offset);

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                sums = vaddq_s32(sums, vldrbq_z_s32(at, some));
                at += channels;
            }
            row += part->line;
        }
        store_means(mean, sums, some, &output[channel]);
    }
}

#else

static inline int8_t mean_of(const struct tosa_mean *mean, int32_t sum) {
    return (int8_t)tosa_mean32(mean, sum, INT8_MIN, INT8_MAX);
}

static void mean_place(const struct tosa_part *part, const struct tosa_mean *mean, const int8_t *from, size_t channels,
                       int8_t *output) {
    size_t channel = 0;

#if defined(TOSA_DSP)
    /* Sums of up to 255 numbers fit in 16 bits: two in a word. */
    for (; part->rows * part->columns <= 255u && channel + 4u <= channels; channel += 4u) {
        const int8_t *row = &from[channel];
        uint32_t even = 0, odd = 0;

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                const uint32_t word = tosa_word(at);

                __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(word));
                __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
                at += channels;
            }
            row += part->line;
        }
        output[channel] = mean_of(mean, (int16_t)even);
        output[channel + 1u] = mean_of(mean, (int16_t)odd);
        output[channel + 2u] = mean_of(mean, (int32_t)even >> 16);
        output[channel + 3u] = mean_of(mean, (int32_t)odd >> 16);
    }
#endif
    for (; channel < channels; channel++) {
        int32_t sum = 0;

        for (size_t i = 0; i < part->rows; i++) {
            const int8_t *at = &from[i * part->line + channel];

            for (size_t j = 0; j < part->columns; j++) {
                sum += *at;
                at += channels;
            }
        }
        output[channel] = mean_of(mean, sum);
    }
}

#endif

void tosa_avg_pool2d_s8(const struct tosa_avg_pool2d_s8 *avg_pool, int8_t *output, const int8_t *input) {
    const struct tosa_window *const window = &avg_pool->pool.window;
    const size_t channels = (size_t)window->channels;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->out_height; y++) {
            for (int32_t x = 0; x < window->out_width; x++) {
                const struct tosa_part part = tosa_part_of(window, y, x);
                const struct tosa_mean mean = tosa_mean_of(&avg_pool->pool, part.rows * part.columns);

                mean_place(&part, &mean, &input[part.first], channels, output);
                output += channels;
            }
        }
        input += (size_t)window->height * (size_t)window->width * channels;
    }
}
