/* TRANSPOSE_CONV2D as convolutions: results whose lines, and columns, have the same rest when they are divided by the
   stride, a phase, are those of a convolution with a part of the kernel, which goes on pixel by pixel. */
#ifndef TOSA_PHASES_H
#define TOSA_PHASES_H

#include "tosa_window.h"

/* For each phase of lines, and of columns: taps of its part of the kernel, at least 1, and the padding before. */
struct tosa_phases {
    const int32_t *taps_y;
    const int32_t *pads_y;
    const int32_t *taps_x;
    const int32_t *pads_x;
};

/* Bytes of the results of a line of a phase, to a multiple of 8; 0 if there is one phase of columns.

   Args: `pixel`, bytes of a place of the output. */
static inline size_t tosa_phase_bytes(const struct tosa_window *whole, size_t pixel) {
    const size_t width = (size_t)((whole->out_width + whole->stride_x - 1) / whole->stride_x);

    return whole->stride_x == 1 ? 0u : (width * pixel + 7u) / 8u * 8u;
}

/* Makes the window of a convolution that of a line of a phase; it may have no columns. */
static inline void tosa_set_phase(struct tosa_window *window, const struct tosa_window *whole,
                                  const struct tosa_phases *phases, int32_t first_y, int32_t first_x) {
    const int32_t left = whole->out_width - first_x;

    window->batches = 1;
    window->out_height = 1;
    window->out_width = left > 0 ? (left + whole->stride_x - 1) / whole->stride_x : 0;
    window->kernel_height = phases->taps_y[first_y];
    window->kernel_width = phases->taps_x[first_x];
    window->pad_left = phases->pads_x[first_x];
    window->stride_y = 1;
    window->stride_x = 1;
}

/* Makes it that of one of the phase's lines; returns how many numbers of the image are not part of its input: a part of
   the kernel of one line reads one line of the image. */
static inline size_t tosa_set_line(struct tosa_window *window, const struct tosa_window *whole,
                                   const struct tosa_phases *phases, int32_t first_y, int32_t line) {
    const int32_t y = line - phases->pads_y[first_y];

    window->height = whole->height;
    window->pad_top = -y;
    if (window->kernel_height != 1 || y < 0 || y >= whole->height) {
        return 0;
    }
    window->height = 1;
    window->pad_top = 0;
    return (size_t)(y * whole->width) * (size_t)whole->channels;
}

/* Results of a line of a phase to their places. */
static inline void tosa_spread(int8_t *to, const int8_t *from, size_t count, size_t pixel, size_t stride) {
    for (; count != 0u; count--) {
        tosa_copy(to, from, pixel);
        to += stride * pixel;
        from += pixel;
    }
}

#endif
