#include "tosa_pool2d_s16.h"

static void max_place(const struct tosa_part *part, const int16_t *from, size_t channels, int16_t *output) {
    size_t channel = 0;

#if defined(TOSA_HELIUM)
    for (; channel < channels; channel += 8u) {
        const mve_pred16_t some = vctp16q((uint32_t)(channels - channel));
        const int16_t *row = &from[channel];
        int16x8_t most = vdupq_n_s16(INT16_MIN);

        for (size_t i = 0; i < part->rows; i++) {
            const int16_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                most = vmaxq_s16(most, vldrhq_z_s16(at, some));
                at += channels;
            }
            row += part->line;
        }
        vstrhq_p_s16(&output[channel], most, some);
    }
#else
#if defined(TOSA_DSP)
    for (; channel + 2u <= channels; channel += 2u) {
        const int16_t *row = &from[channel];
        uint32_t most = 0x80008000u;

        for (size_t i = 0; i < part->rows; i++) {
            const int16_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                const uint32_t word = tosa_word((const int8_t *)at);

                (void)__ssub16((int16x2_t)word, (int16x2_t)most);
                most = (uint32_t)__sel(word, most);
                at += channels;
            }
            row += part->line;
        }
        (void)memcpy(&output[channel], &most, sizeof most);
    }
#endif
    for (; channel < channels; channel++) {
        int16_t most = INT16_MIN;

        for (size_t i = 0; i < part->rows; i++) {
            for (size_t j = 0; j < part->columns; j++) {
                const int16_t number = from[i * part->line + j * channels + channel];

                most = number > most ? number : most;
            }
        }
        output[channel] = most;
    }
#endif
}

void tosa_max_pool2d_s16(const struct tosa_max_pool2d_s16 *max_pool, int16_t *output, const int16_t *input) {
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

static void mean_place(const struct tosa_part *part, const struct tosa_mean *mean, const int16_t *from, size_t channels,
                       int16_t *output) {
    size_t channel = 0;

#if defined(TOSA_HELIUM)
    for (; channel < channels; channel += 8u) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
        const mve_pred16_t more = channels - channel > 4u ? vctp32q((uint32_t)(channels - channel - 4u)) : 0u;
        const int16_t *row = &from[channel];
        int32x4_t first = vdupq_n_s32(mean->offset), second = first;

        for (size_t i = 0; i < part->rows; i++) {
            const int16_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                first = vaddq_s32(first, vldrhq_z_s32(at, some));
                second = vaddq_s32(second, vldrhq_z_s32(&at[4], more));
                at += channels;
            }
            row += part->line;
        }
        vstrhq_p_s32(&output[channel], tosa_means4(mean, first, INT16_MIN, INT16_MAX), some);
        vstrhq_p_s32(&output[channel + 4u], tosa_means4(mean, second, INT16_MIN, INT16_MAX), more);
    }
#else
#if defined(TOSA_DSP)
    for (; channel + 2u <= channels; channel += 2u) {
        const int16_t *row = &from[channel];
        int32_t first = 0, second = 0;

        for (size_t i = 0; i < part->rows; i++) {
            const int16_t *at = row;

            for (size_t j = 0; j < part->columns; j++) {
                first += at[0];
                second += at[1];
                at += channels;
            }
            row += part->line;
        }
        output[channel] = (int16_t)tosa_mean32(mean, first, INT16_MIN, INT16_MAX);
        output[channel + 1u] = (int16_t)tosa_mean32(mean, second, INT16_MIN, INT16_MAX);
    }
#endif
    for (; channel < channels; channel++) {
        int32_t sum = 0;

        for (size_t i = 0; i < part->rows; i++) {
            for (size_t j = 0; j < part->columns; j++) {
                sum += from[i * part->line + j * channels + channel];
            }
        }
        output[channel] = (int16_t)tosa_mean32(mean, sum, INT16_MIN, INT16_MAX);
    }
#endif
}

void tosa_avg_pool2d_s16(const struct tosa_avg_pool2d_s16 *avg_pool, int16_t *output, const int16_t *input) {
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
