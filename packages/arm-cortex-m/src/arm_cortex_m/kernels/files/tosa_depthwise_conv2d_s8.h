/* DEPTHWISE_CONV2D of int8 with the RESCALE, and the CLAMP, behind it. */
#ifndef TOSA_DEPTHWISE_CONV2D_S8_H
#define TOSA_DEPTHWISE_CONV2D_S8_H

#include "tosa_window.h"

/* Numbers for each channel of the output stand in blocks of 16. Within a block, weights have the order of the channels; what the
   rescaling needs has that of vectors of 32 bits: 0, 4, 8, 12, then 2, 6, 10, 14, then 1, ... and 3, ... A block of a
   few channels may have them again, for the places beside; else those that are missing are 0. */
struct tosa_depthwise_conv2d_s8 {
    struct tosa_window window;
    int32_t multiplier;    /* results for each channel of the input, one behind the other */
    int32_t zero_point;    /* of the input: what the padding is made of */
    int32_t places;        /* that a block of weights is for: 16 / channels, or 1 */
    int32_t paired;        /* of the first weights so many (an even number) are such that two products fit in 16 bits */
    const int8_t *weights; /* for each block, kernel_height * kernel_width times 16 */
    struct tosa_rescale rescale;
};

/* Bytes of scratch, which begins at a multiple of 8: kernel_height * kernel_width addresses of 8 bytes, and the lines of
   the input that the kernel covers, padded, with 16 bits for a number and 32 bytes more. Each number is there as often
   as it has results. */
void tosa_depthwise_conv2d_s8(const struct tosa_depthwise_conv2d_s8 *conv, int8_t *output, const int8_t *input,
                              void *scratch);

#endif
