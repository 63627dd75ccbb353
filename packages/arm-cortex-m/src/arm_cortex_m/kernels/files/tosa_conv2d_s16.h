/* CONV2D of int16 and weights of int8, with the RESCALEs, and the CLAMP, behind it; and of int8 where the results are
   of int16. */
#ifndef TOSA_CONV2D_S16_H
#define TOSA_CONV2D_S16_H

#include "tosa_kernels.h"

struct tosa_conv2d_s16 {
    int32_t batches;
    int32_t height; /* of the input */
    int32_t width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
    int32_t out_channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_y;
    int32_t dilation_x;
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
