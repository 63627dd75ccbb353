/* A group of output channels at a time: its weights are unpacked, and it is a convolution of int8. */
#include "tosa_conv2d_s4.h"

/* Numbers of a block. */
#define BLOCK 32u

#if defined(TOSA_HELIUM)

static void unpack(const int8_t *from, size_t blocks, int8_t *to) {
    for (; blocks != 0u; blocks--) {
        const int8x16_t pairs = vldrbq_s8(from);

        vstrbq_s8(to, vshrq_n_s8(vshlq_n_s8(pairs, 4), 4));
        vstrbq_s8(&to[BLOCK / 2u], vshrq_n_s8(pairs, 4));
        from += BLOCK / 2u;
        to += BLOCK;
    }
}

#else

/* Four numbers of 4 bits, each in the low half of its byte, as bytes. */
static inline uint32_t signed_bytes(uint32_t halves) { return ((halves ^ 0x08080808u) + 0x78787878u) ^ 0x80808080u; }

static void unpack(const int8_t *from, size_t blocks, int8_t *to) {
    for (; blocks != 0u; blocks--) {
        for (size_t i = 0; i < BLOCK / 2u; i += 4u) {
            uint32_t pairs, low, high;

            (void)memcpy(&pairs, &from[i], sizeof pairs);
            low = signed_bytes(pairs & 0x0F0F0F0Fu);
            high = signed_bytes((pairs >> 4) & 0x0F0F0F0Fu);
            (void)memcpy(&to[i], &low, sizeof low);
            (void)memcpy(&to[BLOCK / 2u + i], &high, sizeof high);
        }
        from += BLOCK / 2u;
        to += BLOCK;
    }
}

#endif

static inline size_t blocks_of(size_t numbers) { return (numbers + BLOCK - 1u) / BLOCK; }

void tosa_conv2d_s4(const struct tosa_conv2d_s4 *packed, int8_t *output, const int8_t *input, void *scratch) {
    const size_t depth = tosa_depth(&packed->conv.window);
    const int8_t *weights = packed->conv.weights;
    int8_t *const rest = (int8_t *)scratch + blocks_of((size_t)packed->group * depth) * BLOCK;
    int32_t left = packed->conv.out_channels;
    struct tosa_conv2d_s8 conv = packed->conv;

    conv.weights = scratch;
    for (; left != 0; left -= conv.out_channels) {
        conv.out_channels = left < packed->group ? left : packed->group;
        const size_t blocks = blocks_of((size_t)conv.out_channels * depth);

        unpack(weights, blocks, scratch);
        tosa_conv2d_s8(&conv, output, input, rest);
        weights += blocks * (BLOCK / 2u);
        output += conv.out_channels;
        conv.rescale.biases += conv.out_channels;
        conv.rescale.multipliers += conv.out_channels;
        conv.rescale.shifts += conv.out_channels;
    }
}
