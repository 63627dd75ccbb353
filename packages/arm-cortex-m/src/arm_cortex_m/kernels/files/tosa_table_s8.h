/* TABLE of int8, and any operators in a row of which each result depends on one number alone. */
#ifndef TOSA_TABLE_S8_H
#define TOSA_TABLE_S8_H

#include "tosa_kernels.h"

struct tosa_table_s8 {
    int32_t count;
    const int8_t *table; /* of 256 results: those of -128, -127, ... */
};

/* The output may be the input. */
void tosa_table_s8(const struct tosa_table_s8 *look_up, int8_t *output, const int8_t *input);

#endif
