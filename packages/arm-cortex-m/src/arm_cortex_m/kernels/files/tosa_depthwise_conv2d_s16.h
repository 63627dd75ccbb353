/* DEPTHWISE_CONV2D of int16 and weights of int8, one result for each channel, with the RESCALEs,
   and the CLAMP, behind it. */
#ifndef TOSA_DEPTHWISE_CONV2D_S16_H
#define TOSA_DEPTHWISE_CONV2D_S16_H

#include "tosa_kernels.h"

struct tosa_depthwise_conv2d_s16 {
    int32_t batches;
    int32_t height; /* of the input */
    int32_t width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_y;
    int32_t dilation_x;
    const int8_t *weights; /* for each place of the kernel, all channels */
    struct tosa_rescale rescale;
};

void tosa_depthwise_conv2d_s16(const struct tosa_depthwise_conv2d_s16 *conv, int16_t *output, const int16_t *input);

#endif
