/* CONV2D of int8 and weights of 4 bits, with the RESCALE, and the CLAMP, behind it. */
#ifndef TOSA_CONV2D_S4_H
#define TOSA_CONV2D_S4_H

#include "tosa_conv2d_s8.h"

struct tosa_conv2d_s4 {
    struct tosa_conv2d_s8 conv; /* weights: of each group of channels blocks of 32, the first half in the low bits of 16
                                   bytes, the other in the high bits; zeros behind the last */
    int32_t group;              /* output channels whose weights are unpacked at once */
};

/* Bytes of scratch: the weights of a group in blocks of 32, and those of tosa_conv2d_s8. */
void tosa_conv2d_s4(const struct tosa_conv2d_s4 *packed, int8_t *output, const int8_t *input, void *scratch);

#endif
