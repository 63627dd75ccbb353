/* DEPTHWISE_CONV2D of int16 and weights of int8 with the RESCALEs, and the CLAMP, behind it. */
#ifndef TOSA_DEPTHWISE_CONV2D_S16_H
#define TOSA_DEPTHWISE_CONV2D_S16_H

#include "tosa_window.h"

struct tosa_depthwise_conv2d_s16 {
    struct tosa_window window;
    int32_t multiplier;    /* results for each channel of the input, one behind the other */
    const int8_t *weights; /* for each place of the kernel, all channels of the output */
    struct tosa_rescale rescale;
};

void tosa_depthwise_conv2d_s16(const struct tosa_depthwise_conv2d_s16 *conv, int16_t *output, const int16_t *input);

#endif
