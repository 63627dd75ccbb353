/* AVG_POOL2D and MAX_POOL2D of int8. */
#ifndef TOSA_POOL2D_S8_H
#define TOSA_POOL2D_S8_H

#include "tosa_pool2d.h"

struct tosa_max_pool2d_s8 {
    struct tosa_max_pool2d pool;
};

struct tosa_avg_pool2d_s8 {
    struct tosa_avg_pool2d pool;
};

void tosa_max_pool2d_s8(const struct tosa_max_pool2d_s8 *max_pool, int8_t *output, const int8_t *input);
void tosa_avg_pool2d_s8(const struct tosa_avg_pool2d_s8 *avg_pool, int8_t *output, const int8_t *input);

#endif
