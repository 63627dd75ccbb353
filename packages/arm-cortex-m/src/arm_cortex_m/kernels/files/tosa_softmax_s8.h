/* Softmax of int8: the greatest number of a row, exponentials, their sum and its reciprocal, and the products. */
#ifndef TOSA_SOFTMAX_S8_H
#define TOSA_SOFTMAX_S8_H

#include "tosa_kernels.h"

struct tosa_softmax_s8 {
    int32_t rows;
    int32_t length;
    const int8_t *exponentials; /* of 256 differences: 0, -1, -2, ... */
    int32_t sum_zero_point;     /* of the exponentials in the sum, */
    int32_t zero_point;         /* and in the products */
    struct tosa_scale sum_scale;
    int32_t sum_least; /* of the sum in 8 bits */
    int32_t sum_most;
    int32_t sum_out_zero_point;
    const int16_t *reciprocals; /* of 256 sums: -128, -127, ... */
    struct tosa_scale scale;
    int32_t out_zero_point;
    int32_t least;
    int32_t most;
};

void tosa_softmax_s8(const struct tosa_softmax_s8 *softmax, int8_t *output, const int8_t *input);

#endif
