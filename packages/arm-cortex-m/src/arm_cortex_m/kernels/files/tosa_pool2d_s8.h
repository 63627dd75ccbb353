/* AVG_POOL2D and MAX_POOL2D of int8. */
#ifndef TOSA_POOL2D_S8_H
#define TOSA_POOL2D_S8_H

#include "tosa_window.h"

struct tosa_max_pool2d_s8 {
    struct tosa_window window; /* without holes */
};

/* The factors of a mean of counts[i] numbers are multipliers[i] and shifts[i], for each count that there is: sums are
   shifted to the left by lefts[i], and the high half of the product to the right by -shifts[i]. */
struct tosa_avg_pool2d_s8 {
    struct tosa_window window; /* without holes */
    const int32_t *counts;
    const int32_t *multipliers;
    const int8_t *lefts;
    const int8_t *shifts;
    int32_t input_zero_point;
    int32_t zero_point; /* of the result */
};

void tosa_max_pool2d_s8(const struct tosa_max_pool2d_s8 *max_pool, int8_t *output, const int8_t *input);
void tosa_avg_pool2d_s8(const struct tosa_avg_pool2d_s8 *avg_pool, int8_t *output, const int8_t *input);

#endif
