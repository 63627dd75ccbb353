/* MATMUL of int16 with the RESCALEs to 32 and to 16 bits, and the CLAMP, behind it. */
#ifndef TOSA_MATMUL_S16_H
#define TOSA_MATMUL_S16_H

#include "tosa_kernels.h"

struct tosa_matmul_s16 {
    int32_t batches;
    int32_t height; /* of a and of the result */
    int32_t depth;  /* numbers of a row of a, and of a column of b */
    int32_t width;  /* of b and of the result */
    int32_t narrow; /* the bits that sums lose, which are rounded to 32 bits */
    struct tosa_scale scale;
    int32_t zero_point;
    int32_t least;
    int32_t most;
};

/* Bytes of scratch, which begins at a multiple of 4: 2 for each number of b. */
void tosa_matmul_s16(const struct tosa_matmul_s16 *matmul, int16_t *output, const int16_t *a, const int16_t *b,
                     void *scratch);

#endif
