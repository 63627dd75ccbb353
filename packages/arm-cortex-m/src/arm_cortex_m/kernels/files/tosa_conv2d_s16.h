/* CONV2D of int16 and weights of int8, with the RESCALEs, and the CLAMP, behind it; and of int8 where the results are
   of int16. */
#ifndef TOSA_CONV2D_S16_H
#define TOSA_CONV2D_S16_H

#include "tosa_window.h"

struct tosa_conv2d_s16 {
    struct tosa_window window;
    int32_t out_channels;
    const int8_t *weights; /* as TOSA has them, and three bytes more that are not used */
    struct tosa_rescale rescale;
};

/* Bytes of scratch, which begins at a multiple of 4: five rows of the matrix, kernel_height *
   kernel_width * channels numbers each and up to three more. */
void tosa_conv2d_s16(const struct tosa_conv2d_s16 *conv, int16_t *output, const int16_t *input, void *scratch);

struct tosa_conv2d_s8_s16 {
    struct tosa_conv2d_s16 conv;
    int32_t zero_point; /* of the input */
};

/* Scratch is the same. */
void tosa_conv2d_s8_s16(const struct tosa_conv2d_s8_s16 *conv, int16_t *output, const int8_t *input, void *scratch);

#endif
