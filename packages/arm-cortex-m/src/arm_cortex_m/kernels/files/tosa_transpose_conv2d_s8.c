#include "tosa_transpose_conv2d_s8.h"

void tosa_transpose_conv2d_s8(const struct tosa_transpose_conv2d_s8 *transposed, int8_t *output,
                              const int8_t *input, void *scratch) {
    const struct tosa_window *const window = &transposed->conv.window;
    const size_t pixel = (size_t)transposed->conv.out_channels;
    const size_t results = tosa_phase_bytes(window, pixel * sizeof *output);
    struct tosa_conv2d_s8 conv = transposed->conv;

    for (int32_t first_y = 0; first_y < window->stride_y; first_y++) {
        for (int32_t first_x = 0; first_x < window->stride_x; first_x++) {
            tosa_set_phase(&conv.window, window, &transposed->phases, first_y, first_x);
            for (int32_t batch = 0; batch < window->batches && conv.window.out_width != 0; batch++) {
                const int8_t *const image =
                    &input[(size_t)(batch * window->height * window->width) * (size_t)window->channels];

                for (int32_t y = first_y; y < window->out_height; y += window->stride_y) {
                    const int32_t place = (batch * window->out_height + y) * window->out_width + first_x;
                    int8_t *const line = &output[(size_t)place * pixel];
                    int8_t *const to = window->stride_x == 1 ? line : scratch;
                    const size_t from =
                        tosa_set_line(&conv.window, window, &transposed->phases, first_y, y / window->stride_y);

                    tosa_conv2d_s8(&conv, to, &image[from], (int8_t *)scratch + results);
                    if (to != line) {
                        tosa_spread((int8_t *)line, scratch, (size_t)conv.window.out_width, pixel * sizeof *output,
                                    (size_t)window->stride_x);
                    }
                }
            }
            conv.weights += tosa_depth(&conv.window) * pixel;
            conv.rescale.biases += pixel;
        }
    }
}
