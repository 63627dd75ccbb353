/* DEPTHWISE_CONV2D of int16 and weights of int8, one result for each channel, with the RESCALEs,
   and the CLAMP, behind it. */
#ifndef TOSA_DEPTHWISE_CONV2D_S16_H
#define TOSA_DEPTHWISE_CONV2D_S16_H

#include "tosa_window.h"

struct tosa_depthwise_conv2d_s16 {
    struct tosa_window window;
    const int8_t *weights; /* for each place of the kernel, all channels */
    struct tosa_rescale rescale;
};

void tosa_depthwise_conv2d_s16(const struct tosa_depthwise_conv2d_s16 *conv, int16_t *output, const int16_t *input);

#endif
