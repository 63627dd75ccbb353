/* CONV2D of int8 with the RESCALE, and the CLAMP, behind it. */
#ifndef TOSA_CONV2D_S8_H
#define TOSA_CONV2D_S8_H

#include "tosa_window.h"

struct tosa_conv2d_s8 {
    struct tosa_window window;
    int32_t out_channels;
    int32_t out_stride;    /* numbers of the output from one place to the next */
    int32_t zero_point;    /* of the input: what the padding is made of */
    const int8_t *weights; /* as TOSA has them, and three bytes more that are not used */
    struct tosa_rescale rescale;
};

/* Bytes of scratch, which begins at a multiple of 4: nine rows of the matrix, kernel_height * kernel_width * channels
   numbers each and up to three more. */
void tosa_conv2d_s8(const struct tosa_conv2d_s8 *conv, int8_t *output, const int8_t *input, void *scratch);

#endif
