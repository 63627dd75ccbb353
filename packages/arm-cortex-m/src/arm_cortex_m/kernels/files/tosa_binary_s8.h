/* ADD, SUB, MUL, MAXIMUM or MINIMUM of two RESCALEs of int8, with the RESCALE to int8, and the CLAMP, behind it. */
#ifndef TOSA_BINARY_S8_H
#define TOSA_BINARY_S8_H

#include "tosa_kernels.h"

enum { TOSA_ADD, TOSA_SUB, TOSA_MUL, TOSA_MAXIMUM, TOSA_MINIMUM };

struct tosa_binary_s8 {
    int32_t operation;
    int32_t outer;   /* runs of */
    int32_t inner;   /* numbers */
    int32_t a_outer; /* from one run of an operand to the next; 0: all have the same */
    int32_t b_outer;
    int32_t a_inner; /* 1, or 0: an operand has one number for the whole run */
    int32_t b_inner;
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t zero_point; /* of the result */
    int32_t least;
    int32_t most;
    struct tosa_scale a_scale;
    struct tosa_scale b_scale;
    struct tosa_scale scale; /* of the result */
};

void tosa_binary_s8(const struct tosa_binary_s8 *binary, int8_t *output, const int8_t *a, const int8_t *b);

#endif
