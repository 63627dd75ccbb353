/* The lines of the input under a line of the output are kept padded, each in its place of a ring: none is copied twice.
   A line of the output then knows no borders. A channel with several results is there as several channels. */
#include "tosa_depthwise_conv2d_s8.h"

#define BLOCK 16u

#if defined(TOSA_DSP)
typedef int16_t number; /* of each four, the first and third, then the second and fourth */
#else
typedef int8_t number;
#endif

static inline size_t out_channels(const struct tosa_depthwise_conv2d_s8 *conv) {
    return (size_t)conv->window.channels * (size_t)conv->multiplier;
}

/* Each number so many times. */
static void repeat(int8_t *to, const int8_t *from, size_t count, size_t times) {
#if defined(TOSA_HELIUM)
    const uint8x16_t places = vmulq_n_u8(vidupq_n_u8(0, 1), (uint8_t)times);

    for (; times * 15u < 256u && count != 0u; count -= count < 16u ? count : 16u) {
        const mve_pred16_t some = vctp8q((uint32_t)count);
        const int8x16_t numbers = vldrbq_z_s8(from, some);

        for (size_t i = 0; i < times; i++) {
            vstrbq_scatter_offset_p_s8(&to[i], places, numbers, some);
        }
        to += 16u * times;
        from += 16;
    }
#else
    for (; count > 2u; count--) { /* words may reach into the places of the next two numbers */
        const uint32_t word = (uint8_t)*from++ * 0x01010101u;

        for (size_t i = 0; i < times; i += 4u) {
            (void)memcpy(&to[i], &word, sizeof word);
        }
        to += times;
    }
#endif
    for (; count != 0u; count--) {
        tosa_fill(to, *from++, times);
        to += times;
    }
}

/* Where a line's numbers, channels of a place, begin at a multiple of four in the DSP variant. */
static inline size_t rounded(size_t channels) {
#if defined(TOSA_DSP)
    return (channels + 3u) & ~(size_t)3u;
#else
    return channels;
#endif
}

#if defined(TOSA_DSP)
static uint32_t *widen(uint32_t *to, const int8_t *from, size_t count) {
    for (; count >= 4u; count -= 4u) {
        const uint32_t word = tosa_word(from);

        *to++ = tosa_even_bytes(word);
        *to++ = tosa_odd_bytes(word);
        from += 4;
    }
    if (count != 0u) {
        uint32_t word = 0;

        (void)memcpy(&word, from, count);
        *to++ = tosa_even_bytes(word);
        *to++ = tosa_odd_bytes(word);
    }
    return to;
}

static void place_numbers(number *to, const int8_t *from, size_t places, size_t channels, size_t multiplier) {
    uint32_t *words = (uint32_t *)(void *)to;

    if (multiplier != 1u) { /* to the end of the line: widened, none comes to lie on one that was not */
        int8_t *const repeated = (int8_t *)to + places * (sizeof *to * rounded(channels) - channels);

        repeat(repeated, from, places * channels / multiplier, multiplier);
        from = repeated;
    }
    if (channels % 4u == 0u) {
        (void)widen(words, from, places * channels);
        return;
    }
    for (; places != 0u; places--) {
        words = widen(words, from, channels);
        from += channels;
    }
}

static void place_zero_points(number *to, int32_t zero_point, size_t count) {
    const uint32_t half = (uint32_t)zero_point & 0xFFFFu;
    const uint32_t pair = half | half << 16;
    uint32_t *words = (uint32_t *)(void *)to;

    for (; count != 0u; count -= 4u) {
        *words++ = pair;
        *words++ = pair;
    }
}
#else
static void place_numbers(number *to, const int8_t *from, size_t places, size_t channels, size_t multiplier) {
    if (multiplier == 1u) {
        tosa_copy(to, from, places * channels);
    } else {
        repeat(to, from, places * channels / multiplier, multiplier);
    }
}

static void place_zero_points(number *to, int32_t zero_point, size_t count) { tosa_fill(to, zero_point, count); }
#endif

/* A line of the input, or of padding, as wide as the kernel reads it. */
static void place_line(const struct tosa_depthwise_conv2d_s8 *conv, const int8_t *image, int32_t y, size_t width,
                       number *to) {
    const struct tosa_window *const window = &conv->window;
    const size_t channels = out_channels(conv);
    const size_t each = rounded(channels);
    const size_t left = (size_t)window->pad_left < width ? (size_t)window->pad_left : width;
    const size_t some = (size_t)window->width < width - left ? (size_t)window->width : width - left;

    if (y < 0 || y >= window->height) {
        place_zero_points(to, conv->zero_point, width * each);
        return;
    }
    place_zero_points(to, conv->zero_point, left * each);
    place_numbers(&to[left * each], &image[(size_t)(y * window->width * window->channels)], some, channels,
                  (size_t)conv->multiplier);
    place_zero_points(&to[(left + some) * each], conv->zero_point, (width - left - some) * each);
}

#if defined(TOSA_HELIUM)

/* The sums of sixteen channels: each vector has every fourth. */
struct sums {
    int32x4_t bb, bt, tb, tt;
};

#define ADD_WIDENED(sums, bottom, top)                                                                                 \
    do {                                                                                                               \
        (sums).bb = vaddq_s32((sums).bb, vmovlbq_s16(bottom));                                                         \
        (sums).bt = vaddq_s32((sums).bt, vmovltq_s16(bottom));                                                         \
        (sums).tb = vaddq_s32((sums).tb, vmovlbq_s16(top));                                                            \
        (sums).tt = vaddq_s32((sums).tt, vmovltq_s16(top));                                                            \
    } while (0)

static inline int32x4_t high4(const struct tosa_rescale *rescale, int32x4_t sums, size_t at) {
    const int32x4_t multipliers = vldrwq_s32(&rescale->multipliers[at]);
    const int32x4_t high = rescale->double_round != 0 ? tosa_high4_double_round(sums, multipliers)
                                                      : tosa_high4(sums, rescale->left, multipliers);

    return vrshlq_s32(high, vldrbq_s32(&rescale->shifts[at]));
}

static void compute_line(const struct tosa_depthwise_conv2d_s8 *conv, number *const *taps, int8_t *output) {
    const struct tosa_window *const window = &conv->window;
    const struct tosa_rescale *const rescale = &conv->rescale;
    const size_t channels = out_channels(conv);
    const size_t places = (size_t)conv->places;
    const size_t count = (size_t)window->kernel_height * (size_t)window->kernel_width;
    const size_t paired = (size_t)conv->paired;
    const size_t step = (size_t)window->stride_x * channels;
    const size_t last = (size_t)window->out_width - places;
    const int8x16_t least = vdupq_n_s8((int8_t)rescale->least), most = vdupq_n_s8((int8_t)rescale->most);

    for (size_t channel = 0; channel < channels; channel += BLOCK) {
        const mve_pred16_t some = vctp8q((uint32_t)(channels * places - channel));

        for (size_t place = 0;;) {
            const size_t at = place * step + channel;
            const int8_t *weights = &conv->weights[channel * count];
            number *const *tap = taps;
            struct sums sums = {vldrwq_s32(&rescale->biases[channel]), vldrwq_s32(&rescale->biases[channel + 4u]),
                                vldrwq_s32(&rescale->biases[channel + 8u]), vldrwq_s32(&rescale->biases[channel + 12u])};
            int16x8_t low, high;
            int8x16_t result;

            for (; tap != &taps[paired]; tap += 2) {
                const int8x16_t x0 = vldrbq_s8(&tap[0][at]), w0 = vldrbq_s8(weights);
                const int8x16_t x1 = vldrbq_s8(&tap[1][at]), w1 = vldrbq_s8(&weights[BLOCK]);
                const int16x8_t bottom = vaddq_s16(vmullbq_int_s8(x0, w0), vmullbq_int_s8(x1, w1));
                const int16x8_t top = vaddq_s16(vmulltq_int_s8(x0, w0), vmulltq_int_s8(x1, w1));

                ADD_WIDENED(sums, bottom, top);
                weights += 2u * BLOCK;
            }
            for (; tap != &taps[count]; tap++) {
                const int8x16_t x0 = vldrbq_s8(&tap[0][at]), w0 = vldrbq_s8(weights);

                ADD_WIDENED(sums, vmullbq_int_s8(x0, w0), vmulltq_int_s8(x0, w0));
                weights += BLOCK;
            }
            low = vqmovnbq_s32(vuninitializedq_s16(), high4(rescale, sums.bb, channel));
            low = vqmovntq_s32(low, high4(rescale, sums.bt, channel + 4u));
            high = vqmovnbq_s32(vuninitializedq_s16(), high4(rescale, sums.tb, channel + 8u));
            high = vqmovntq_s32(high, high4(rescale, sums.tt, channel + 12u));
            result = vqmovnbq_s16(vuninitializedq_s8(), vqaddq_n_s16(low, (int16_t)rescale->zero_point));
            result = vqmovntq_s16(result, vqaddq_n_s16(high, (int16_t)rescale->zero_point));
            vstrbq_p_s8(&output[place * channels + channel], vminq_s8(vmaxq_s8(result, least), most), some);
            if (place == last) {
                break;
            }
            place = place + places < last ? place + places : last;
        }
    }
}

#else

/* Where the rescaling's numbers of a channel are. */
static inline size_t lane(size_t channel) {
    static const uint8_t lanes[BLOCK] = {0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15};

    return (channel & ~(size_t)15u) + lanes[channel & 15u];
}

#if defined(TOSA_DSP)

#define PRODUCT(sum, halves, x, w) __asm__("smla" halves " %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w))

/* The sums of four channels of two places; the numbers of the second are `apart` words behind those of the first. */
static inline void sum_four(int32_t sums[8], number *const *tap, number *const *end, const int8_t *weights, size_t at,
                            size_t apart) {
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;

    for (; tap != end; tap++) {
        const uint32_t *const x = (const uint32_t *)(const void *)&tap[0][at];
        const uint32_t *const y = &x[apart];
        const uint32_t word = tosa_word(weights);
        const uint32_t even = tosa_even_bytes(word), odd = tosa_odd_bytes(word);

        PRODUCT(a0, "bb", x[0], even);
        PRODUCT(a2, "tt", x[0], even);
        PRODUCT(a1, "bb", x[1], odd);
        PRODUCT(a3, "tt", x[1], odd);
        PRODUCT(b0, "bb", y[0], even);
        PRODUCT(b2, "tt", y[0], even);
        PRODUCT(b1, "bb", y[1], odd);
        PRODUCT(b3, "tt", y[1], odd);
        weights += BLOCK;
    }
    sums[0] = a0;
    sums[1] = a1;
    sums[2] = a2;
    sums[3] = a3;
    sums[4] = b0;
    sums[5] = b1;
    sums[6] = b2;
    sums[7] = b3;
}

/* The products of a line of a kernel of three, for two channels and two places beside one another: four columns. */
static inline void sum_three(int32_t *a_low, int32_t *a_high, int32_t *b_low, int32_t *b_high, const uint32_t *x,
                             size_t column, const uint32_t *weights) {
    uint32_t number, weight, other;

    __asm__("ldr %[number], [%[x]]\n"
            "ldr %[weight], [%[weights]]\n"
            "smlabb %[a_low], %[number], %[weight], %[a_low]\n"
            "smlatt %[a_high], %[number], %[weight], %[a_high]\n"
            "ldr %[number], [%[x], %[column], lsl #2]\n"
            "ldr %[other], [%[weights], #8]\n"
            "smlabb %[b_low], %[number], %[weight], %[b_low]\n"
            "smlatt %[b_high], %[number], %[weight], %[b_high]\n"
            "smlabb %[a_low], %[number], %[other], %[a_low]\n"
            "smlatt %[a_high], %[number], %[other], %[a_high]\n"
            "ldr %[number], [%[x], %[column], lsl #3]\n"
            "ldr %[weight], [%[weights], #16]\n"
            "add %[x], %[x], %[column], lsl #2\n"
            "smlabb %[b_low], %[number], %[other], %[b_low]\n"
            "smlatt %[b_high], %[number], %[other], %[b_high]\n"
            "smlabb %[a_low], %[number], %[weight], %[a_low]\n"
            "smlatt %[a_high], %[number], %[weight], %[a_high]\n"
            "ldr %[number], [%[x], %[column], lsl #3]\n"
            "smlabb %[b_low], %[number], %[weight], %[b_low]\n"
            "smlatt %[b_high], %[number], %[weight], %[b_high]\n"
            : [a_low] "+r"(*a_low), [a_high] "+r"(*a_high), [b_low] "+r"(*b_low), [b_high] "+r"(*b_high), [x] "+r"(x),
              [number] "=&r"(number), [weight] "=&r"(weight), [other] "=&r"(other)
            : [column] "r"(column), [weights] "r"(weights)
            : "memory");
}

/* The same as sum_four for a kernel of 3 x 3 that goes on place by place; args: weights are two words for each. */
static inline void sum_four_3x3(int32_t sums[8], number *const *lines, const uint32_t *weights, size_t at,
                                size_t column) {
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;

    for (size_t i = 0; i < 3u; i++) {
        const uint32_t *const x = (const uint32_t *)(const void *)&lines[3u * i][at];

        sum_three(&a0, &a2, &b0, &b2, x, column, weights);
        sum_three(&a1, &a3, &b1, &b3, &x[1], column, &weights[1]);
        weights += 6;
    }
    sums[0] = a0;
    sums[1] = a1;
    sums[2] = a2;
    sums[3] = a3;
    sums[4] = b0;
    sums[5] = b1;
    sums[6] = b2;
    sums[7] = b3;
}

/* Rescales one channel of two places. */
#define RESCALED(i, from)                                                                                              \
    do {                                                                                                               \
        const int32_t bias = biases[from], multiplier = multipliers[from], shift = ~shifts[from];                      \
                                                                                                                       \
        to[i] = (int8_t)tosa_saturated(sums[i] + bias, left, multiplier, shift, offset);                               \
        to_next[i] = (int8_t)tosa_saturated(sums[4 + (i)] + bias, left, multiplier, shift, offset);                    \
    } while (0)

static inline void store_four(const struct tosa_rescale *rescale, const int32_t sums[8], size_t at, int8_t *to,
                              int8_t *to_next) {
    const int32_t left = rescale->left, offset = 2 * rescale->zero_point + 1;
    const int32_t *const biases = &rescale->biases[at], *const multipliers = &rescale->multipliers[at];
    const int8_t *const shifts = &rescale->shifts[at];

    RESCALED(0, 0);
    RESCALED(1, 8);
    RESCALED(2, 4);
    RESCALED(3, 12);
}

static void compute_line(const struct tosa_depthwise_conv2d_s8 *conv, number *const *taps, int8_t *output) {
    const struct tosa_window *const window = &conv->window;
    const struct tosa_rescale rescale = conv->rescale;
    const int saturates = tosa_saturates(&rescale);
    const size_t channels = out_channels(conv);
    const size_t count = (size_t)window->kernel_height * (size_t)window->kernel_width;
    const size_t each = rounded(channels);
    const size_t step = (size_t)window->stride_x * each;
    const size_t width = (size_t)window->out_width;
    const int three = window->kernel_height == 3 && window->kernel_width == 3 && window->stride_x == 1 &&
                      window->dilation_x == 1 && width > 1u;

    for (size_t channel = 0; channel < channels; channel += 4u) {
        const int8_t *const weights = &conv->weights[(channel & ~(size_t)15u) * count + (channel & 15u)];
        const size_t some = channels - channel < 4u ? channels - channel : 4u;
        const size_t at = lane(channel);
        uint32_t wide[18];

        if (three != 0) {
            for (size_t i = 0; i < 9u; i++) {
                const uint32_t word = tosa_word(&weights[i * BLOCK]);

                wide[2u * i] = tosa_even_bytes(word);
                wide[2u * i + 1u] = tosa_odd_bytes(word);
            }
        }
        for (size_t place = 0; place < width; place += 2u) {
            const size_t first = three != 0 && place + 1u == width ? place - 1u : place;
            const size_t next = first + 1u < width ? first + 1u : first;
            int8_t *const to = &output[first * channels + channel], *const to_next = &output[next * channels + channel];
            int32_t sums[8];

            if (three != 0) {
                sum_four_3x3(sums, taps, wide, first * each + channel, each / 2u);
            } else {
                sum_four(sums, taps, &taps[count], weights, first * step + channel, (next - first) * step / 2u);
            }
            if (saturates != 0 && some == 4u) {
                store_four(&rescale, sums, at, to, to_next);
                continue;
            }
            for (size_t i = 0; i < some; i++) {
                to[i] = tosa_rescaled(&rescale, lane(channel + i), sums[i]);
                to_next[i] = tosa_rescaled(&rescale, lane(channel + i), sums[4u + i]);
            }
        }
    }
}

#else

static void compute_line(const struct tosa_depthwise_conv2d_s8 *conv, number *const *taps, int8_t *output) {
    const struct tosa_window *const window = &conv->window;
    const size_t channels = out_channels(conv);
    const size_t count = (size_t)window->kernel_height * (size_t)window->kernel_width;
    const size_t step = (size_t)window->stride_x * channels;

    for (size_t place = 0; place < (size_t)window->out_width; place++) {
        for (size_t channel = 0; channel < channels; channel++) {
            const int8_t *const weights = &conv->weights[(channel & ~(size_t)15u) * count + (channel & 15u)];
            int32_t sum = 0;

            for (size_t tap = 0; tap < count; tap++) {
                sum += taps[tap][place * step + channel] * weights[tap * BLOCK];
            }
            *output++ = tosa_rescaled(&conv->rescale, lane(channel), sum);
        }
    }
}

#endif
#endif

void tosa_depthwise_conv2d_s8(const struct tosa_depthwise_conv2d_s8 *conv, int8_t *output, const int8_t *input,
                              void *scratch) {
    const struct tosa_window *const window = &conv->window;
    const size_t channels = out_channels(conv);
    const size_t kernel_height = (size_t)window->kernel_height, kernel_width = (size_t)window->kernel_width;
    const int32_t lines = (window->kernel_height - 1) * window->dilation_y + 1;
    const int32_t beside = (window->kernel_width - 1) * window->dilation_x;
    const int32_t across = (window->out_width - 1) * window->stride_x + beside + 1;
    const size_t width = (size_t)across, line = width * rounded(channels);
    number **const taps = (number **)scratch;
    number *const ring = (number *)(void *)((uint8_t *)scratch + kernel_height * kernel_width * 8u);

    for (int32_t batch = 0; batch < window->batches; batch++) {
        int32_t placed = 0; /* lines, counted from the first of the padding */

        for (int32_t y = 0; y < window->out_height; y++) {
            const int32_t first = y * window->stride_y;

            for (placed = placed > first ? placed : first; placed < first + lines; placed++) {
                place_line(conv, input, placed - window->pad_top, width, &ring[(size_t)(placed % lines) * line]);
            }
            for (size_t i = 0; i < kernel_height; i++) {
                const int32_t from = first + (int32_t)i * window->dilation_y;

                for (size_t j = 0; j < kernel_width; j++) {
                    taps[i * kernel_width + j] =
                        &ring[(size_t)(from % lines) * line + j * (size_t)window->dilation_x * rounded(channels)];
                }
            }
            compute_line(conv, taps, output);
            output += (size_t)window->out_width * channels;
        }
        input += (size_t)(window->height * window->width * window->channels);
    }
}
