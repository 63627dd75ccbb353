/* MATMUL of int8 with the RESCALE, and the CLAMP, behind it. */
#ifndef TOSA_MATMUL_S8_H
#define TOSA_MATMUL_S8_H

#include "tosa_kernels.h"

struct tosa_matmul_s8 {
    int32_t batches;
    int32_t height; /* of a and of the result */
    int32_t depth;  /* numbers of a row of a, and of a column of b */
    int32_t width;  /* of b and of the result */
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t left; /* the rescaling: as in struct tosa_rescale, but one factor for all */
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t least;
    int32_t most;
};

/* Bytes of scratch, which begins at a multiple of 4: 4 for each column of b, then a copy of b and three more. */
void tosa_matmul_s8(const struct tosa_matmul_s8 *matmul, int8_t *output, const int8_t *a, const int8_t *b,
                    void *scratch);

#endif
