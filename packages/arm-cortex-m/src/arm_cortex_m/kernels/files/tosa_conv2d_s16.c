/* As tosa_conv2d_s8.c: a product of two matrices, of which one has a row for each place of the
   output. The compiler of the model has made sure that sums of products fit 32 bits. */
#include "tosa_conv2d_s16.h"

#include "tosa_products.h"

/* The numbers of an image, of one type or of the other. */
struct image {
    const int16_t *wide;
    const int8_t *narrow;
    int32_t zero_point; /* of `narrow` */
};

/* Numbers of 8 bits, which fill the second half of a row of 16 bits, to such numbers without their zero point. */
static void widen(int16_t *row, size_t count, int32_t zero_point) {
    const int8_t *from = (const int8_t *)row + count;

#if defined(TOSA_HELIUM)
    for (int32_t left = (int32_t)count; left > 0; left -= 8) {
        const mve_pred16_t some = vctp16q((uint32_t)left);

        vstrhq_p_s16(row, vsubq_n_s16(vldrbq_z_s16(from, some), (int16_t)zero_point), some);
        row += 8;
        from += 8;
    }
#else
    for (; count != 0u; count--) {
        *row++ = (int16_t)(*from++ - zero_point);
    }
#endif
}

/* The numbers under the kernel at one place; moves to the next. */
static void gather(const struct tosa_conv2d_s16 *conv, const struct image *image, struct tosa_place *place,
                   int16_t *row) {
    int8_t *const bytes = (int8_t *)row;
    const size_t depth = tosa_depth(&conv->window);

    if (image->wide != NULL) {
        (void)tosa_gather(&conv->window, sizeof *row, 0, (const int8_t *)image->wide, place, bytes);
    } else {
        (void)tosa_gather(&conv->window, 1, image->zero_point, image->narrow, place, &bytes[depth]);
        widen(row, depth, image->zero_point);
    }
}

/* Whether the input has the rows of the matrix already. */
static int input_has_rows(const struct tosa_conv2d_s16 *conv, const struct image *image) {
    return image->wide != NULL && tosa_input_has_rows(&conv->window);
}

#if defined(TOSA_HELIUM)

/* Products of four rows of weights and one of the matrix, summed. */
static inline int32x4_t products_4_x_1(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d,
                                       const int16_t *x, uint32_t depth) {
    register uint32_t left __asm__("lr") = depth;
    int32_t a0 = 0, b0 = 0, c0 = 0, d0 = 0;
    int32x4_t sums = vuninitializedq_s32();

    __asm__ volatile("dlstp.16 lr, lr\n"
                     "1:\n"
                     "vldrh.u16 q0, [%[x]], #16\n"
                     "vldrb.s16 q1, [%[a]], #8\n"
                     "vmladava.s16 %[a0], q0, q1\n"
                     "vldrb.s16 q2, [%[b]], #8\n"
                     "vmladava.s16 %[b0], q0, q2\n"
                     "vldrb.s16 q1, [%[c]], #8\n"
                     "vmladava.s16 %[c0], q0, q1\n"
                     "vldrb.s16 q2, [%[d]], #8\n"
                     "vmladava.s16 %[d0], q0, q2\n"
                     "letp lr, 1b\n"
                     : [a0] "+Te"(a0), [b0] "+Te"(b0), [c0] "+Te"(c0), [d0] "+Te"(d0), [a] "+r"(a), [b] "+r"(b),
                       [c] "+r"(c), [d] "+r"(d), [x] "+r"(x), "+r"(left)
                     :
                     : "q0", "q1", "q2", "memory");
    TOSA_TO_LANES(sums, 0, 2, a0, c0);
    TOSA_TO_LANES(sums, 1, 3, b0, d0);
    return sums;
}

/* One row, and all output channels: four at a time. */
static void multiply(const struct tosa_conv2d_s16 *conv, uint32_t depth, const int16_t *row, int16_t *output) {
    const struct tosa_rescale *rescale = &conv->rescale;
    const size_t channels = (size_t)conv->out_channels;

    for (size_t channel = 0; channel < channels; channel += 4u) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - channel));
        const size_t last = channels - 1u - channel;
        const int8_t *const weights = &conv->weights[channel * depth];
        const int8_t *const weights1 = &weights[(last < 1u ? last : 1u) * depth];
        const int8_t *const weights2 = &weights[(last < 2u ? last : 2u) * depth];
        const int8_t *const weights3 = &weights[(last < 3u ? last : 3u) * depth];
        const int32x4_t sums = products_4_x_1(weights, weights1, weights2, weights3, row, depth);
        const int32x4_t values = vaddq_s32(sums, vldrwq_z_s32(&rescale->biases[channel], some));

        vstrhq_p_s32(&output[channel],
                     tosa_rescaled4(rescale, values, vldrwq_z_s32(&rescale->multipliers[channel], some),
                                    vldrbq_z_s32(&rescale->shifts[channel], some)),
                     some);
    }
}

static void convolve(const struct tosa_conv2d_s16 *conv, int16_t *output, const struct image *image, void *scratch) {
    const uint32_t depth = tosa_depth(&conv->window);
    const int direct = input_has_rows(conv, image);
    const int16_t *input = image->wide;
    struct tosa_place place = {0, 0, 0};

    for (size_t count = tosa_places(&conv->window); count != 0u;
         count--) {
        if (direct == 0) {
            gather(conv, image, &place, scratch);
        }
        multiply(conv, depth, direct != 0 ? input : scratch, output);
        if (direct != 0) {
            input += depth;
        }
        output += conv->out_channels;
    }
}

#elif defined(TOSA_DSP)

/* Of each four numbers of a row the first and third, the second and fourth, as words; zeros behind
   the last. A pair of words is followed by those of the other rows.

   Args: `apart`, the words from one to the other of a pair. */
static void pair(const int16_t *row, uint32_t depth, uint32_t *to, size_t apart) {
    for (; depth != 0u; depth -= depth < 4u ? depth : 4u) {
        uint32_t words[2] = {0, 0};

        (void)memcpy(words, row, depth < 4u ? depth * sizeof *row : sizeof words);
        to[0] = (words[0] & 0xFFFFu) | words[1] << 16;
        to[apart] = words[0] >> 16 | (words[1] & 0xFFFF0000u);
        to += 2u * apart;
        row += 4;
    }
}

/* Four rows, one beside the other, and all output channels. */
static void multiply4(const struct tosa_conv2d_s16 *conv, uint32_t depth, const uint32_t *rows, int16_t *output) {
    const struct tosa_rescale *const rescale = &conv->rescale;
    const size_t channels = (size_t)conv->out_channels;
    const uint32_t *const end = &rows[(depth + 3u) / 4u * 8u];

    for (size_t channel = 0; channel < channels; channel++) {
        const int8_t *weights = &conv->weights[channel * depth];
        const uint32_t *x = rows;
        int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        uint32_t even, odd;

        __asm__ volatile("1:\n" TOSA_FOUR_BY_FOUR "cmp %[x], %[end]\n"
                         "bne 1b\n"
                         : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3),
                           [weights] "+r"(weights), [x] "+r"(x), [even] "=&r"(even), [odd] "=&r"(odd)
                         : [end] "r"(end)
                         : "r4", "r5", "r6", "r8", "cc", "memory");
        output[channel] = (int16_t)tosa_rescaled32(rescale, channel, sum0);
        output[channels + channel] = (int16_t)tosa_rescaled32(rescale, channel, sum1);
        output[2u * channels + channel] = (int16_t)tosa_rescaled32(rescale, channel, sum2);
        output[3u * channels + channel] = (int16_t)tosa_rescaled32(rescale, channel, sum3);
    }
}

/* One row, and all output channels. */
static void multiply1(const struct tosa_conv2d_s16 *conv, uint32_t depth, const uint32_t *row, int16_t *output) {
    const size_t channels = (size_t)conv->out_channels;
    const uint32_t *const end = &row[(depth + 3u) / 4u * 2u];

    for (size_t channel = 0; channel < channels; channel++) {
        const int8_t *weights = &conv->weights[channel * depth];
        int32_t sum = 0;

        for (const uint32_t *x = row; x != end; x += 2) {
            const uint32_t word = tosa_word(weights);

            sum = __smlad((int32_t)x[0], (int32_t)tosa_even_bytes(word), sum);
            sum = __smlad((int32_t)x[1], (int32_t)tosa_odd_bytes(word), sum);
            weights += 4;
        }
        output[channel] = (int16_t)tosa_rescaled32(&conv->rescale, channel, sum);
    }
}

static void convolve(const struct tosa_conv2d_s16 *conv, int16_t *output, const struct image *image, void *scratch) {
    const uint32_t depth = tosa_depth(&conv->window);
    const int direct = input_has_rows(conv, image);
    const int16_t *input = image->wide;
    size_t count = tosa_places(&conv->window);
    uint32_t *const rows = scratch;
    int16_t *const gathered = (int16_t *)&rows[(depth + 3u) / 4u * 8u];
    struct tosa_place place = {0, 0, 0};

    while (count != 0u) {
        const size_t some = count < 4u ? 1u : 4u;

        for (size_t i = 0; i < some; i++) {
            const int16_t *row = gathered;

            if (direct != 0) {
                row = input;
                input += depth;
            } else {
                gather(conv, image, &place, gathered);
            }
            pair(row, depth, &rows[i], some);
        }
        if (some == 4u) {
            multiply4(conv, depth, rows, output);
        } else {
            multiply1(conv, depth, rows, output);
        }
        output += some * (size_t)conv->out_channels;
        count -= some;
    }
}

#else

static void convolve(const struct tosa_conv2d_s16 *conv, int16_t *output, const struct image *image, void *scratch) {
    const size_t depth = tosa_depth(&conv->window);
    const size_t channels = (size_t)conv->out_channels;
    const int direct = input_has_rows(conv, image);
    const int16_t *input = image->wide;
    struct tosa_place place = {0, 0, 0};

    for (size_t count = tosa_places(&conv->window); count != 0u;
         count--) {
        const int16_t *const row = direct != 0 ? input : scratch;
        const int8_t *weights = conv->weights;

        if (direct != 0) {
            input += depth;
        } else {
            gather(conv, image, &place, scratch);
        }
        for (size_t channel = 0; channel < channels; channel++) {
            int32_t sum = 0;

            for (size_t i = 0; i < depth; i++) {
                sum += row[i] * weights[i];
            }
            weights += depth;
            output[channel] = (int16_t)tosa_rescaled32(&conv->rescale, channel, sum);
        }
        output += channels;
    }
}

#endif

void tosa_conv2d_s16(const struct tosa_conv2d_s16 *conv, int16_t *output, const int16_t *input, void *scratch) {
    const struct image image = {input, NULL, 0};

    convolve(conv, output, &image, scratch);
}

void tosa_conv2d_s8_s16(const struct tosa_conv2d_s8_s16 *conv, int16_t *output, const int8_t *input, void *scratch) {
    const struct image image = {NULL, input, conv->zero_point};

    convolve(&conv->conv, output, &image, scratch);
}
