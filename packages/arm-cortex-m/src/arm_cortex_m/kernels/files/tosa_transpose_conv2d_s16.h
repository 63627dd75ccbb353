/* TRANSPOSE_CONV2D of int16 and weights of int8 with the RESCALEs, and the CLAMP, behind it. */
#ifndef TOSA_TRANSPOSE_CONV2D_S16_H
#define TOSA_TRANSPOSE_CONV2D_S16_H

#include "tosa_conv2d_s16.h"
#include "tosa_phases.h"

struct tosa_transpose_conv2d_s16 {
    struct tosa_conv2d_s16 conv; /* weights: of all phases, one behind the other */
    struct tosa_phases phases;
};

/* Bytes of scratch, which begins at a multiple of 8: results of a line of a phase, to a multiple of 8 bytes, and those of
   the largest convolution. */
void tosa_transpose_conv2d_s16(const struct tosa_transpose_conv2d_s16 *transposed, int16_t *output,
                              const int16_t *input, void *scratch);

#endif
