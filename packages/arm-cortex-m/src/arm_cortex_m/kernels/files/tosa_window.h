/* An image, and the kernel that goes over it; the numbers under the kernel as a row of a matrix. */
#ifndef TOSA_WINDOW_H
#define TOSA_WINDOW_H

#include "tosa_kernels.h"

struct tosa_window {
    int32_t batches;
    int32_t height; /* of the input */
    int32_t width;
    int32_t channels;
    int32_t out_height;
    int32_t out_width;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_y;
    int32_t dilation_x;
};

/* A place of the output. */
struct tosa_place {
    int32_t batch;
    int32_t y;
    int32_t x;
};

static inline size_t tosa_places(const struct tosa_window *window) {
    return (size_t)window->batches * (size_t)window->out_height * (size_t)window->out_width;
}

/* Numbers under the kernel: those of a row. */
static inline uint32_t tosa_depth(const struct tosa_window *window) {
    return (uint32_t)(window->kernel_height * window->kernel_width * window->channels);
}

/* Whether the input has the rows of all places already, one behind the other. */
static inline int tosa_input_has_rows(const struct tosa_window *window) {
    return window->kernel_height == 1 && window->kernel_width == 1 && window->stride_y == 1 && window->stride_x == 1 &&
           window->pad_top == 0 && window->pad_left == 0 && window->height == window->out_height &&
           window->width == window->out_width;
}

/* The row of a place; moves to the next, and returns the end of the row.

   Args: `size`, the bytes of a number; `padding`, what each byte of the padding is. */
static inline int8_t *tosa_gather(const struct tosa_window *window, size_t size, int32_t padding, const int8_t *input,
                                  struct tosa_place *place, int8_t *row) {
    const size_t pixel = (size_t)window->channels * size;
    const size_t line = (size_t)window->kernel_width * pixel;
    const int32_t left = place->x * window->stride_x - window->pad_left;
    const int32_t right = left + (window->kernel_width - 1) * window->dilation_x;
    const int whole = window->dilation_x == 1 && left >= 0 && right < window->width;
    int32_t y = place->y * window->stride_y - window->pad_top;

    for (int32_t i = 0; i < window->kernel_height; i++, y += window->dilation_y) {
        const int8_t *from;

        if (y < 0 || y >= window->height) {
            tosa_fill(row, padding, line);
            row += line;
            continue;
        }
        from = &input[(size_t)((place->batch * window->height + y) * window->width) * pixel];
        if (whole != 0) {
            tosa_copy(row, &from[(size_t)left * pixel], line);
            row += line;
            continue;
        }
        for (int32_t j = 0, x = left; j < window->kernel_width; j++, x += window->dilation_x) {
            if (x < 0 || x >= window->width) {
                tosa_fill(row, padding, pixel);
            } else {
                tosa_copy(row, &from[(size_t)x * pixel], pixel);
            }
            row += pixel;
        }
    }
    if (++place->x == window->out_width) {
        place->x = 0;
        if (++place->y == window->out_height) {
            place->y = 0;
            place->batch++;
        }
    }
    return row;
}

#endif
