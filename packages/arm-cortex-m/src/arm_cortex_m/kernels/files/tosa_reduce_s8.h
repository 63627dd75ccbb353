/* REDUCE_MAX and REDUCE_MIN of int8; REDUCE_SUM of a RESCALE of int8, with the RESCALE to int8, and the CLAMP, behind. */
#ifndef TOSA_REDUCE_S8_H
#define TOSA_REDUCE_S8_H

#include "tosa_kernels.h"

/* An operand of outer times length times inner numbers; of each length, one is made. */
struct tosa_extreme_s8 {
    int32_t outer;
    int32_t length;
    int32_t inner;
    int32_t greatest; /* else the least */
};

/* A sum v of numbers less their zero point becomes, with s = -shift from 1 to 31,

       clamp(zero_point + ((v << left) * multiplier + 2^(31 + s) >> (32 + s))) */
struct tosa_sum_s8 {
    int32_t outer;
    int32_t length;
    int32_t inner;
    int32_t input_zero_point;
    int32_t left;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t least;
    int32_t most;
};

void tosa_extreme_s8(const struct tosa_extreme_s8 *extreme, int8_t *output, const int8_t *input);
void tosa_sum_s8(const struct tosa_sum_s8 *sum, int8_t *output, const int8_t *input);

#endif
