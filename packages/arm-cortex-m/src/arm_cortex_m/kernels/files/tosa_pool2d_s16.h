/* AVG_POOL2D and MAX_POOL2D of int16. */
#ifndef TOSA_POOL2D_S16_H
#define TOSA_POOL2D_S16_H

#include "tosa_pool2d.h"

struct tosa_max_pool2d_s16 {
    struct tosa_max_pool2d pool;
};

struct tosa_avg_pool2d_s16 {
    struct tosa_avg_pool2d pool;
};

void tosa_max_pool2d_s16(const struct tosa_max_pool2d_s16 *max_pool, int16_t *output, const int16_t *input);
void tosa_avg_pool2d_s16(const struct tosa_avg_pool2d_s16 *avg_pool, int16_t *output, const int16_t *input);

#endif
