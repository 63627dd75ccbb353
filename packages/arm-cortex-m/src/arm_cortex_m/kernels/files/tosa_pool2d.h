/* What pools of all types share: what of the input lies under the kernel, and means. */
#ifndef TOSA_POOL2D_H
#define TOSA_POOL2D_H

#include "tosa_window.h"

struct tosa_max_pool2d {
    struct tosa_window window; /* without holes */
};

/* The factors of a mean of counts[i] numbers are multipliers[i] and shifts[i], for each count that there is: sums are
   shifted to the left by lefts[i], and the high half of the product to the right by -shifts[i]. */
struct tosa_avg_pool2d {
    struct tosa_window window;
    const int32_t *counts;
    const int32_t *multipliers;
    const int8_t *lefts;
    const int8_t *shifts;
    int32_t input_zero_point;
    int32_t zero_point; /* of the result */
};

/* What of the input lies under the kernel at one place. */
struct tosa_part {
    size_t first; /* number of the image */
    size_t rows;
    size_t columns;
    size_t line; /* numbers from one row to the next */
};

static inline struct tosa_part tosa_part_of(const struct tosa_window *window, int32_t y, int32_t x) {
    const int32_t top = y * window->stride_y - window->pad_top, left = x * window->stride_x - window->pad_left;
    const int32_t first_y = top < 0 ? 0 : top, first_x = left < 0 ? 0 : left;
    const int32_t bottom = top + window->kernel_height, right = left + window->kernel_width;
    const int32_t end_y = bottom < window->height ? bottom : window->height;
    const int32_t end_x = right < window->width ? right : window->width;

    return (struct tosa_part){
        (size_t)(first_y * window->width + first_x) * (size_t)window->channels,
        (size_t)(end_y - first_y),
        (size_t)(end_x - first_x),
        (size_t)window->width * (size_t)window->channels,
    };
}

struct tosa_mean {
    int32_t offset; /* added to sums: the zero point of the input as often as there are numbers, negative */
    int32_t multiplier;
    int32_t left;
    int32_t shift;
    int32_t zero_point;
};

/* The factors of a mean of so many numbers. */
static inline struct tosa_mean tosa_mean_of(const struct tosa_avg_pool2d *pool, size_t count) {
    size_t i = 0;

    while (pool->counts[i] != (int32_t)count) {
        i++;
    }
    return (struct tosa_mean){
        -(int32_t)count * pool->input_zero_point, pool->multipliers[i], pool->lefts[i], pool->shifts[i], pool->zero_point,
    };
}

#if defined(TOSA_HELIUM)
/* Means of sums that have the offset already. */
static inline int32x4_t tosa_means4(const struct tosa_mean *mean, int32x4_t sums, int32_t least, int32_t most) {
    const int32x4_t high = vmulhq_s32(vshlq_r_s32(sums, mean->left), vdupq_n_s32(mean->multiplier));
    const int32x4_t value = vaddq_n_s32(vrshlq_n_s32(high, mean->shift), mean->zero_point);

    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(least)), vdupq_n_s32(most));
}
#endif

static inline int32_t tosa_mean32(const struct tosa_mean *mean, int32_t sum, int32_t least, int32_t most) {
    const int32_t high =
        tosa_high_product((int32_t)((uint32_t)(sum + mean->offset) << mean->left), mean->multiplier);

    return tosa_bounded(((high >> ~mean->shift) + 2 * mean->zero_point + 1) >> 1, least, most);
}

#endif
