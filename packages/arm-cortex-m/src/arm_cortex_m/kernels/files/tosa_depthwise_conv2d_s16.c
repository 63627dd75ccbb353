/* The places of the kernel that are in the image, and all channels of each. */
#include "tosa_depthwise_conv2d_s16.h"

/* What of the kernel lies in the image: lines and columns, and where the first of each begins. */
struct taps {
    const int16_t *input;
    const int8_t *weights;
    size_t rows;
    size_t columns;
    size_t line; /* numbers from a line of the kernel to the next, in the input */
    size_t step; /* the same of columns */
    size_t weights_line;
};

/* The first tap at or behind the image's edge, and how many lie in it. */
static int32_t taps_in(int32_t start, int32_t kernel, int32_t dilation, int32_t size, size_t *count) {
    int32_t first = 0, last = kernel;

    while (first < kernel && start + first * dilation < 0) {
        first++;
    }
    while (last > first && start + (last - 1) * dilation >= size) {
        last--;
    }
    *count = (size_t)(last - first);
    return first;
}

static struct taps taps_of(const struct tosa_depthwise_conv2d_s16 *conv, const int16_t *image, int32_t y, int32_t x) {
    const struct tosa_window *const window = &conv->window;
    const size_t channels = (size_t)window->channels;
    const int32_t top = y * window->stride_y - window->pad_top, left = x * window->stride_x - window->pad_left;
    struct taps taps;
    const int32_t row = taps_in(top, window->kernel_height, window->dilation_y, window->height, &taps.rows);
    const int32_t column = taps_in(left, window->kernel_width, window->dilation_x, window->width, &taps.columns);

    taps.rows = taps.columns == 0u ? 0u : taps.rows;
    taps.input = image;
    if (taps.rows != 0u) {
        const int32_t at = (top + row * window->dilation_y) * window->width + left + column * window->dilation_x;

        taps.input = &image[(size_t)at * channels];
    }
    taps.weights = &conv->weights[(size_t)(row * window->kernel_width + column) * channels * (size_t)conv->multiplier];
    taps.line = (size_t)window->dilation_y * (size_t)window->width * channels;
    taps.step = (size_t)window->dilation_x * channels;
    taps.weights_line = (size_t)window->kernel_width * channels * (size_t)conv->multiplier;
    return taps;
}

#if defined(TOSA_HELIUM)

/* The results of every second channel, four of them at most, of those that are left. */
static inline int32x4_t result4(const struct tosa_rescale *rescale, int32x4_t sums, size_t channel, size_t left) {
    const uint32x4_t places = vidupq_n_u32(0, 2);
    const mve_pred16_t some = vctp32q(((uint32_t)left + 1u) / 2u);
    const int32x4_t biases = vldrwq_gather_shifted_offset_z_s32(&rescale->biases[channel], places, some);
    const int32x4_t multipliers = vldrwq_gather_shifted_offset_z_s32(&rescale->multipliers[channel], places, some);
    const int32x4_t shifts = vldrbq_gather_offset_z_s32(&rescale->shifts[channel], places, some);

    return tosa_rescaled4(rescale, vaddq_s32(sums, biases), multipliers, shifts);
}

/* Args: multiplier, as the structure has it; a constant spares most of what it costs. */
TOSA_INLINE void one_place(const struct tosa_depthwise_conv2d_s16 *conv, const struct taps *taps, size_t multiplier,
                           int16_t *output) {
    const size_t channels = (size_t)conv->window.channels * multiplier;
    const uint16x8_t reciprocal = vdupq_n_u16((uint16_t)(65536u / multiplier + 1u));

    for (size_t channel = 0; channel < channels; channel += 8u) {
        const size_t left = channels - channel;
        const mve_pred16_t some = vctp16q((uint32_t)left);
        const uint16x8_t origins = vmulhq_u16(vaddq_n_u16(vidupq_n_u16(0, 1), (uint16_t)channel), reciprocal);
        int32x4_t even = vdupq_n_s32(0), odd = vdupq_n_s32(0);

        for (size_t i = 0; i < taps->rows; i++) {
            const int16_t *from = &taps->input[i * taps->line + (multiplier == 1u ? channel : 0u)];
            const int8_t *weights = &taps->weights[i * taps->weights_line + channel];

            for (size_t j = 0; j < taps->columns; j++) {
                const int16x8_t w = vldrbq_z_s16(weights, some);
                const int16x8_t x = multiplier == 1u ? vldrhq_z_s16(from, some)
                                                     : vldrhq_gather_shifted_offset_z_s16(from, origins, some);

                even = vaddq_s32(even, vmullbq_int_s16(x, w));
                odd = vaddq_s32(odd, vmulltq_int_s16(x, w));
                from += taps->step;
                weights += channels;
            }
        }
        even = result4(&conv->rescale, even, channel, left);
        if (left > 1u) {
            odd = result4(&conv->rescale, odd, channel + 1u, left - 1u);
        }
        vstrhq_p_s16(&output[channel], vmovntq_s32(vreinterpretq_s16_s32(even), odd), some);
    }
}

#else

TOSA_INLINE void one_place(const struct tosa_depthwise_conv2d_s16 *conv, const struct taps *taps, size_t multiplier,
                           int16_t *output) {
    const size_t channels = (size_t)conv->window.channels * multiplier;
    size_t channel = 0;

#if defined(TOSA_DSP)
    for (; channel + 2u <= channels; channel += 2u) {
        const size_t apart = (channel + 1u) / multiplier - channel / multiplier;
        int32_t sum0 = 0, sum1 = 0;

        for (size_t i = 0; i < taps->rows; i++) {
            const int16_t *from = &taps->input[i * taps->line + channel / multiplier];
            const int8_t *weights = &taps->weights[i * taps->weights_line + channel];

            for (size_t j = 0; j < taps->columns; j++) {
                sum0 += from[0] * weights[0];
                sum1 += from[apart] * weights[1];
                from += taps->step;
                weights += channels;
            }
        }
        output[channel] = (int16_t)tosa_rescaled32(&conv->rescale, channel, sum0);
        output[channel + 1u] = (int16_t)tosa_rescaled32(&conv->rescale, channel + 1u, sum1);
    }
#endif
    for (; channel < channels; channel++) {
        int32_t sum = 0;

        for (size_t i = 0; i < taps->rows; i++) {
            for (size_t j = 0; j < taps->columns; j++) {
                sum += taps->input[i * taps->line + j * taps->step + channel / multiplier] *
                       taps->weights[i * taps->weights_line + j * channels + channel];
            }
        }
        output[channel] = (int16_t)tosa_rescaled32(&conv->rescale, channel, sum);
    }
}

#endif

void tosa_depthwise_conv2d_s16(const struct tosa_depthwise_conv2d_s16 *conv, int16_t *output, const int16_t *input) {
    const struct tosa_window *const window = &conv->window;
    const size_t channels = (size_t)window->channels;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->out_height; y++) {
            for (int32_t x = 0; x < window->out_width; x++) {
                const struct taps taps = taps_of(conv, input, y, x);

                if (conv->multiplier == 1) {
                    one_place(conv, &taps, 1, output);
                } else {
                    one_place(conv, &taps, (size_t)conv->multiplier, output);
                }
                output += channels * (size_t)conv->multiplier;
            }
        }
        input += (size_t)window->height * (size_t)window->width * channels;
    }
}
