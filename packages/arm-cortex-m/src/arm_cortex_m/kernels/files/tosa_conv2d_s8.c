/* A convolution is a product of matrices: one has a row for each place of the output, the numbers under the kernel; the
   other, the weights, has one for each output channel. A few rows at a time are gathered, unless the input has them
   already, as it does for a kernel of 1 x 1. */
#include "tosa_conv2d_s8.h"

#include "tosa_products.h"

/* Rows that are gathered at once. Scratch holds as many of int8; those of 4 places of int16 are fewer bytes. */
#define ROWS 9u

#if defined(TOSA_HELIUM)

/* One row, and all output channels: four channels at a time, the last of which may be partly those before. */
static void multiply1(const struct tosa_conv2d_s8 *conv, uint32_t depth, const int8_t *row, int8_t *output) {
    const struct tosa_rescale rescale = conv->rescale;
    const size_t channels = (size_t)conv->out_channels;
    const uint32_t last = (uint32_t)channels - 1u;
    const uint32_t second = last < 1u ? 0u : depth, third = (last < 2u ? last : 2u) * depth;
    const uint32_t fourth = (last < 3u ? last : 3u) * depth;
    const mve_pred16_t some = vctp32q((uint32_t)channels);

    for (size_t done = 0; done < channels; done += 4u) {
        const size_t channel = done + 4u <= channels || channels < 4u ? done : channels - 4u;
        const int8_t *const weights = &conv->weights[channel * depth];
        int32x4_t sums = tosa_products_4_x_1(weights, &weights[second], &weights[third], &weights[fourth], row, depth);

        sums = vaddq_s32(sums, vldrwq_z_s32(&rescale.biases[channel], some));
        sums = tosa_rescaled4(&rescale, sums, vldrwq_z_s32(&rescale.multipliers[channel], some),
                              vldrbq_z_s32(&rescale.shifts[channel], some));
        vstrbq_p_s32(&output[channel], sums, some);
    }
}

/* At least three rows, and all output channels: four channels and three rows at a time. The last four channels, and the
   last three rows, may be partly those before: what is computed twice is the same. */
static void multiply3(const struct tosa_conv2d_s8 *conv, uint32_t depth, const int8_t *first_row, size_t count,
                      int8_t *output) {
    const struct tosa_rescale *rescale = &conv->rescale;
    const size_t channels = (size_t)conv->out_channels;
    const size_t stride = (size_t)conv->out_stride;
    const mve_pred16_t some = vctp32q((uint32_t)channels);
    size_t channel = 0;

    for (size_t done = 0; done < channels; done += 4u) {
        channel = done + 4u <= channels || channels < 4u ? done : channels - 4u;
        const size_t last = channels - 1u - channel;
        const int8_t *const weights = &conv->weights[channel * depth];
        const int32x4_t biases = vldrwq_z_s32(&rescale->biases[channel], some);
        const int32x4_t multipliers = vldrwq_z_s32(&rescale->multipliers[channel], some);
        const int32x4_t shifts = vldrbq_z_s32(&rescale->shifts[channel], some);
        const int8_t *const weights0 = weights, *const weights1 = &weights[(last < 1u ? last : 1u) * depth];
        const int8_t *const weights2 = &weights[(last < 2u ? last : 2u) * depth];
        const int8_t *const weights3 = &weights[(last < 3u ? last : 3u) * depth];
        size_t row = 0;

        for (;;) {
            const int8_t *const rows = &first_row[row * depth];
            int8_t *const to = &output[row * stride + channel];
            int32x4_t v0 = vuninitializedq_s32(), v1 = vuninitializedq_s32(), v2 = vuninitializedq_s32();

            TOSA_PRODUCTS_2_X_3(weights0, weights2, 0, 2);
            TOSA_PRODUCTS_2_X_3(weights1, weights3, 1, 3);
            v0 = vaddq_s32(v0, biases);
            v1 = vaddq_s32(v1, biases);
            v2 = vaddq_s32(v2, biases);
            if (rescale->double_round != 0) {
                v0 = tosa_high4_double_round(v0, multipliers);
                v1 = tosa_high4_double_round(v1, multipliers);
                v2 = tosa_high4_double_round(v2, multipliers);
            } else {
                v0 = tosa_high4(v0, rescale->left, multipliers);
                v1 = tosa_high4(v1, rescale->left, multipliers);
                v2 = tosa_high4(v2, rescale->left, multipliers);
            }
            vstrbq_p_s32(to, tosa_shifted4(rescale, v0, shifts), some);
            vstrbq_p_s32(&to[stride], tosa_shifted4(rescale, v1, shifts), some);
            vstrbq_p_s32(&to[2u * stride], tosa_shifted4(rescale, v2, shifts), some);
            if (row + 3u == count) {
                break;
            }
            row = row + 6u <= count ? row + 3u : count - 3u;
        }
    }
}

static void multiply(const struct tosa_conv2d_s8 *conv, uint32_t depth, const int8_t *rows, size_t count,
                     int8_t *output) {
    if (count >= 3u) {
        multiply3(conv, depth, rows, count, output);
        return;
    }
    for (; count != 0u; count--) {
        multiply1(conv, depth, rows, output);
        rows += depth;
        output += conv->out_stride;
    }
}

void tosa_conv2d_s8(const struct tosa_conv2d_s8 *conv, int8_t *output, const int8_t *input, void *scratch) {
    const uint32_t depth = tosa_depth(&conv->window);
    size_t count = tosa_places(&conv->window);
    struct tosa_place place = {0, 0, 0};

    if (tosa_input_has_rows(&conv->window)) {
        multiply(conv, depth, input, count, output);
        return;
    }
    while (count != 0u) {
        const size_t rows = count < ROWS ? count : ROWS;
        int8_t *row = scratch;

        for (size_t i = 0; i < rows; i++) {
            row = tosa_gather(&conv->window, 1, conv->zero_point, input, &place, row);
        }
        multiply(conv, depth, scratch, rows, output);
        output += rows * (size_t)conv->out_stride;
        count -= rows;
    }
}

#elif defined(TOSA_DSP)

/* A row as numbers of 16 bits, beside three others: of each four the first and third, the second and fourth; zeros
   behind the last. */
static void widen(const int8_t *row, uint32_t depth, uint32_t *to) {
    for (; depth >= 4u; depth -= 4u) {
        const uint32_t word = tosa_word(row);

        to[0] = tosa_even_bytes(word);
        to[4] = tosa_odd_bytes(word);
        to += 8;
        row += 4;
    }
    if (depth != 0u) {
        uint32_t word = 0;

        (void)memcpy(&word, row, depth);
        to[0] = tosa_even_bytes(word);
        to[4] = tosa_odd_bytes(word);
    }
}

/* Four rows, one beside the other, and all output channels. */
static void multiply4(const struct tosa_conv2d_s8 *conv, uint32_t depth, const uint32_t *rows, int8_t *output) {
    const struct tosa_rescale rescale = conv->rescale;
    const int saturates = tosa_saturates(&rescale);
    const size_t channels = (size_t)conv->out_channels, stride = (size_t)conv->out_stride;
    const uint32_t *const end = &rows[(depth + 3u) / 4u * 8u];
    const uint32_t odd = (depth + 3u) / 4u & 1u;

    for (size_t channel = 0; channel < channels; channel++) {
        const int8_t *weights = &conv->weights[channel * depth];
        const uint32_t *x = rows;
        int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        uint32_t even_weights, odd_weights = odd;

        __asm__ volatile("cbnz %[odd], 2f\n"
                         "1:\n" TOSA_FOUR_BY_FOUR "2:\n" TOSA_FOUR_BY_FOUR "cmp %[x], %[end]\n"
                         "bne 1b\n"
                         : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3),
                           [weights] "+r"(weights), [x] "+r"(x), [even] "=&r"(even_weights), [odd] "+&l"(odd_weights)
                         : [end] "r"(end)
                         : "r4", "r5", "r6", "r8", "cc", "memory");
        if (saturates != 0) {
            const int32_t bias = rescale.biases[channel], multiplier = rescale.multipliers[channel];
            const int32_t shift = ~rescale.shifts[channel], offset = 2 * rescale.zero_point + 1;
            const int32_t left = rescale.left;

            output[channel] = (int8_t)tosa_saturated(sum0 + bias, left, multiplier, shift, offset);
            output[stride + channel] = (int8_t)tosa_saturated(sum1 + bias, left, multiplier, shift, offset);
            output[2u * stride + channel] = (int8_t)tosa_saturated(sum2 + bias, left, multiplier, shift, offset);
            output[3u * stride + channel] = (int8_t)tosa_saturated(sum3 + bias, left, multiplier, shift, offset);
        } else {
            output[channel] = tosa_rescaled(&rescale, channel, sum0);
            output[stride + channel] = tosa_rescaled(&rescale, channel, sum1);
            output[2u * stride + channel] = tosa_rescaled(&rescale, channel, sum2);
            output[3u * stride + channel] = tosa_rescaled(&rescale, channel, sum3);
        }
    }
}

/* One row that the input has, or that is gathered, and all output channels. */
static void multiply1(const struct tosa_conv2d_s8 *conv, uint32_t depth, const int8_t *row, int8_t *output) {
    const struct tosa_rescale rescale = conv->rescale;
    const int saturates = tosa_saturates(&rescale);
    const size_t channels = (size_t)conv->out_channels;
    const size_t whole = depth & ~3u;
    size_t channel = 0;
    uint32_t rest = 0;

    (void)memcpy(&rest, &row[whole], depth - whole);
    while (channel < channels) {
        const size_t left = channels - channel;
        const size_t some = left < 2u ? 1u : left < 4u ? 2u : 4u;
        const int8_t *weights = &conv->weights[channel * depth];
        int32_t sums[4] = {0, 0, 0, 0};

        if (some == 4u) {
            tosa_sum_four_channels(sums, row, weights, depth);
        } else {
            tosa_sum_two_channels(sums, row, weights, some == 1u ? 0u : depth, depth);
        }
        for (size_t i = 0; i < some; i++, channel++, weights += depth) {
            const int32_t sum =
                whole == depth ? sums[i] : tosa_four_products(rest, tosa_word(&weights[whole]), sums[i]);

            *output++ = saturates == 0 ? tosa_rescaled(&rescale, channel, sum)
                                       : (int8_t)tosa_saturated(sum + rescale.biases[channel], rescale.left,
                                                                rescale.multipliers[channel], ~rescale.shifts[channel],
                                                                2 * rescale.zero_point + 1);
        }
    }
}

void tosa_conv2d_s8(const struct tosa_conv2d_s8 *conv, int8_t *output, const int8_t *input, void *scratch) {
    const uint32_t depth = tosa_depth(&conv->window);
    const size_t stride = (size_t)conv->out_stride;
    const int direct = tosa_input_has_rows(&conv->window);
    size_t count = tosa_places(&conv->window);
    uint32_t *const rows = scratch;
    int8_t *const gathered = (int8_t *)&rows[(depth + 3u) / 4u * 8u];
    struct tosa_place place = {0, 0, 0};

    while (count != 0u) {
        const size_t some = count < 4u ? 1u : 4u;
        const int8_t *row = gathered;

        for (size_t i = 0; i < some; i++) {
            if (direct != 0) {
                row = input;
                input += depth;
            } else {
                (void)tosa_gather(&conv->window, 1, conv->zero_point, input, &place, gathered);
            }
            if (some == 4u) {
                widen(row, depth, &rows[i]);
            }
        }
        if (some == 4u) {
            multiply4(conv, depth, rows, output);
        } else {
            multiply1(conv, depth, row, output);
        }
        output += some * stride;
        count -= some;
    }
}

#else

void tosa_conv2d_s8(const struct tosa_conv2d_s8 *conv, int8_t *output, const int8_t *input, void *scratch) {
    const size_t depth = tosa_depth(&conv->window);
    const size_t channels = (size_t)conv->out_channels;
    const int direct = tosa_input_has_rows(&conv->window);
    struct tosa_place place = {0, 0, 0};

    for (size_t count = tosa_places(&conv->window); count != 0u; count--) {
        const int8_t *const row = direct != 0 ? input : scratch;
        const int8_t *weights = conv->weights;

        if (direct != 0) {
            input += depth;
        } else {
            (void)tosa_gather(&conv->window, 1, conv->zero_point, input, &place, scratch);
        }
        for (size_t channel = 0; channel < channels; channel++) {
            int32_t sum = 0;

            for (size_t i = 0; i < depth; i++) {
                sum += row[i] * weights[i];
            }
            weights += depth;
            output[channel] = tosa_rescaled(&conv->rescale, channel, sum);
        }
        output += conv->out_stride;
    }
}

#endif
