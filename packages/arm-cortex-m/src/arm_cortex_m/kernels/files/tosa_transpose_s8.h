/* TRANSPOSE of int8: two axes, or runs of numbers along two axes, change places. */
#ifndef TOSA_TRANSPOSE_S8_H
#define TOSA_TRANSPOSE_S8_H

#include "tosa_kernels.h"

struct tosa_transpose_s8 {
    int32_t outer; /* matrices, each transposed by itself, of */
    int32_t rows;
    int32_t columns;
    int32_t run; /* numbers that stay together */
};

void tosa_transpose_s8(const struct tosa_transpose_s8 *transpose, int8_t *output, const int8_t *input);

#endif
