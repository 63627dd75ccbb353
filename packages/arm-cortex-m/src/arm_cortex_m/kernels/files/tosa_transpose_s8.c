#include "tosa_transpose_s8.h"

static void move_runs(int8_t *output, const int8_t *input, size_t rows, size_t columns, size_t run) {
    for (size_t column = 0; column < columns; column++) {
        for (size_t row = 0; row < rows; row++) {
            tosa_copy(output, &input[(row * columns + column) * run], run);
            output += run;
        }
    }
}

#if defined(TOSA_HELIUM)

/* Distances of 16 bits reach eight numbers of this many columns or rows. */
#define FARTHEST 8192u

/* Eight numbers at a time, along the longer side. */
static void move_numbers(int8_t *output, const int8_t *input, size_t rows, size_t columns) {
    if (columns >= rows && rows <= FARTHEST) {
        const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)rows);

        for (size_t row = 0; row < rows; row++) {
            int8_t *to = &output[row];

            for (size_t column = 0; column < columns; column += 8u) {
                const mve_pred16_t some = vctp16q((uint32_t)(columns - column));

                vstrbq_scatter_offset_p_s16(to, places, vldrbq_z_s16(&input[column], some), some);
                to += 8u * rows;
            }
            input += columns;
        }
    } else if (columns <= FARTHEST) {
        const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)columns);

        for (size_t column = 0; column < columns; column++) {
            const int8_t *from = &input[column];

            for (size_t row = 0; row < rows; row += 8u) {
                const mve_pred16_t some = vctp16q((uint32_t)(rows - row));

                vstrbq_p_s16(&output[row], vldrbq_gather_offset_z_s16(from, places, some), some);
                from += 8u * columns;
            }
            output += rows;
        }
    } else {
        move_runs(output, input, rows, columns, 1);
    }
}

#else

static void move_numbers(int8_t *output, const int8_t *input, size_t rows, size_t columns) {
    for (size_t column = 0; column < columns; column++) {
        const int8_t *from = &input[column];

        for (size_t row = 0; row < rows; row++) {
            *output++ = *from;
            from += columns;
        }
    }
}

#endif

void tosa_transpose_s8(const struct tosa_transpose_s8 *transpose, int8_t *output, const int8_t *input) {
    const size_t rows = (size_t)transpose->rows, columns = (size_t)transpose->columns, run = (size_t)transpose->run;

    for (int32_t i = 0; i < transpose->outer; i++) {
        if (run == 1u) {
            move_numbers(output, input, rows, columns);
        } else {
            move_runs(output, input, rows, columns, run);
        }
        input += rows * columns * run;
        output += rows * columns * run;
    }
}
