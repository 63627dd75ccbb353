/* TRANSPOSE_CONV2D of int8 with the RESCALE, and the CLAMP, behind it. */
#ifndef TOSA_TRANSPOSE_CONV2D_S8_H
#define TOSA_TRANSPOSE_CONV2D_S8_H

#include "tosa_conv2d_s8.h"
#include "tosa_phases.h"

struct tosa_transpose_conv2d_s8 {
    struct tosa_conv2d_s8 conv; /* weights and biases: of all phases, one behind the other */
    struct tosa_phases phases;
};

/* Bytes of scratch, which begins at a multiple of 8: results of a line of a phase, to a multiple of 8 bytes, and those of
   the largest convolution. */
void tosa_transpose_conv2d_s8(const struct tosa_transpose_conv2d_s8 *transposed, int8_t *output,
                              const int8_t *input, void *scratch);

#endif
