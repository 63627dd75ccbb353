#include "tosa_pool2d_s8.h"

/* What of the input lies under the kernel at one place. */
struct window {
    const int8_t *first;
    size_t rows;
    size_t columns;
    size_t row_step;
};

static struct window window_of(const struct tosa_pool2d *pool, const int8_t *image, int32_t y, int32_t x) {
    const int32_t top = y * pool->stride_y - pool->pad_top, left = x * pool->stride_x - pool->pad_left;
    const int32_t first_y = top < 0 ? 0 : top, first_x = left < 0 ? 0 : left;
    const int32_t bottom = top + pool->kernel_height, right = left + pool->kernel_width;
    const int32_t end_y = bottom < pool->height ? bottom : pool->height;
    const int32_t end_x = right < pool->width ? right : pool->width;

    return (struct window){
        &image[(size_t)(first_y * pool->width + first_x) * (size_t)pool->channels],
        (size_t)(end_y - first_y),
        (size_t)(end_x - first_x),
        (size_t)pool->width * (size_t)pool->channels,
    };
}

static void max_place(const struct window *window, size_t channels, int8_t *output) {
    size_t channel = 0;

#if defined(TOSA_HELIUM)
    for (; channel < channels; channel += 16u) {
        const mve_pred16_t some = vctp8q((uint32_t)(channels - channel));
        const int8_t *row = &window->first[channel];
        int8x16_t most = vdupq_n_s8(INT8_MIN);

        for (size_t i = 0; i < window->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < window->columns; j++) {
                most = vmaxq_s8(most, vldrbq_z_s8(at, some));
                at += channels;
            }
            row += window->row_step;
        }
        vstrbq_p_s8(&output[channel], most, some);
    }
#else
#if defined(TOSA_DSP)
    for (; channel + 4u <= channels; channel += 4u) {
        const int8_t *row = &window->first[channel];
        uint32_t most = 0x80808080u;

        for (size_t i = 0; i < window->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < window->columns; j++) {
                const uint32_t word = tosa_word(at);

                (void)__ssub8((int8x4_t)word, (int8x4_t)most);
                most = (uint32_t)__sel(word, most);
                at += channels;
            }
            row += window->row_step;
        }
        (void)memcpy(&output[channel], &most, sizeof most);
    }
#endif
    for (; channel < channels; channel++) {
        int8_t most = INT8_MIN;

        for (size_t i = 0; i < window->rows; i++) {
            for (size_t j = 0; j < window->columns; j++) {
                const int8_t number = window->first[i * window->row_step + j * channels + channel];

                most = number > most ? number : most;
            }
        }
        output[channel] = most;
    }
#endif
}

void tosa_max_pool2d_s8(const struct tosa_max_pool2d_s8 *max_pool, int8_t *output, const int8_t *input) {
    const struct tosa_pool2d *const pool = &max_pool->pool;
    const size_t channels = (size_t)pool->channels;

    for (int32_t batch = 0; batch < pool->batches; batch++) {
        for (int32_t y = 0; y < pool->out_height; y++) {
            for (int32_t x = 0; x < pool->out_width; x++) {
                const struct window window = window_of(pool, input, y, x);

                max_place(&window, channels, output);
                output += channels;
            }
        }
        input += (size_t)(pool->height * pool->width) * channels;
    }
}

struct mean {
    int32_t offset; /* added to sums: the zero point of the input as often as there are numbers, negative */
    int32_t multiplier;
    int32_t left;
    int32_t shift;
    int32_t zero_point;
};

static void mean_place(const struct window *window, const struct mean *mean, size_t channels, int8_t *output) {
#if defined(TOSA_HELIUM)
    for (size_t channel = 0; channel < channels; channel += 4u) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
        const int8_t *row = &window->first[channel];
        int32x4_t sums = vdupq_n_s32(mean->offset);

        for (size_t i = 0; i < window->rows; i++) {
            const int8_t *at = row;

            for (size_t j = 0; j < window->columns; j++) {
                sums = vaddq_s32(sums, vldrbq_z_s32(at, some));
                at += channels;
            }
            row += window->row_step;
        }
        sums = vmulhq_s32(vshlq_r_s32(sums, mean->left), vdupq_n_s32(mean->multiplier));
        sums = vaddq_n_s32(vrshlq_n_s32(sums, mean->shift), mean->zero_point);
        sums = vminq_s32(vmaxq_s32(sums, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX));
        vstrbq_p_s32(&output[channel], sums, some);
    }
#else
    for (size_t channel = 0; channel < channels; channel++) {
        int32_t sum = mean->offset, high;

        for (size_t i = 0; i < window->rows; i++) {
            const int8_t *at = &window->first[i * window->row_step + channel];

            for (size_t j = 0; j < window->columns; j++) {
                sum += *at;
                at += channels;
            }
        }
        high = tosa_high_product((int32_t)((uint32_t)sum << mean->left), mean->multiplier);
        high = ((high >> ~mean->shift) + 2 * mean->zero_point + 1) >> 1;
        output[channel] = (int8_t)tosa_bounded(high, INT8_MIN, INT8_MAX);
    }
#endif
}

void tosa_avg_pool2d_s8(const struct tosa_avg_pool2d_s8 *avg_pool, int8_t *output, const int8_t *input) {
    const struct tosa_pool2d *const pool = &avg_pool->pool;
    const size_t channels = (size_t)pool->channels;

    for (int32_t batch = 0; batch < pool->batches; batch++) {
        for (int32_t y = 0; y < pool->out_height; y++) {
            for (int32_t x = 0; x < pool->out_width; x++) {
                const struct window window = window_of(pool, input, y, x);
                const int32_t count = (int32_t)(window.rows * window.columns);
                struct mean mean;
                size_t i = 0;

                while (avg_pool->counts[i] != count) {
                    i++;
                }
                mean.offset = -count * avg_pool->input_zero_point;
                mean.multiplier = avg_pool->multipliers[i];
                mean.left = avg_pool->lefts[i];
                mean.shift = avg_pool->shifts[i];
                mean.zero_point = avg_pool->zero_point;
                mean_place(&window, &mean, channels, output);
                output += channels;
            }
        }
        input += (size_t)(pool->height * pool->width) * channels;
    }
}
