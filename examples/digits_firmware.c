/* Firmware that classifies handwritten digits: the program that examples/digits.py puts in the place of app/main.c.

   Reads count.bin, an unsigned integer of 32 bits, and pictures.bin, as many pictures of floats. Writes scores.bin, ten
   floats for each picture. */
#include <stdint.h>

#include "board.h"
#include "model_memory.h"
#include "model_numbers.h"
#include "models/digits.h"

enum { MOST_PICTURES = 360, PIXELS = DIGITS_INPUT0_BYTES, SCORES = DIGITS_OUTPUT0_BYTES };

MODEL_SRAM static uint8_t arena[DIGITS_ARENA_BYTES];
MODEL_SRAM static float pictures[MOST_PICTURES][PIXELS];
MODEL_SRAM static float scores[MOST_PICTURES][SCORES];

static model_status classify(const digits_model *model, const float *picture, float *score) {
    static int8_t input[PIXELS], output[SCORES];
    const digits_inputs inputs = {input};
    const digits_outputs outputs = {output};
    model_status status;

    for (int i = 0; i < PIXELS; i++) {
        input[i] = (int8_t)model_quantize(picture[i], DIGITS_INPUT0_INVERSE_SCALE, DIGITS_INPUT0_ZERO_POINT,
                                          DIGITS_INPUT0_LEAST, DIGITS_INPUT0_MOST);
    }
    status = digits_run(model, &inputs, &outputs);
    for (int i = 0; i < SCORES; i++) {
        score[i] = model_dequantize(output[i], DIGITS_OUTPUT0_SCALE, DIGITS_OUTPUT0_ZERO_POINT);
    }
    return status;
}

int main(void) {
    digits_model model;
    uint32_t count = 0;

    if (board_read("count.bin", &count, sizeof(count)) != 0 || count > MOST_PICTURES ||
        board_read("pictures.bin", pictures, count * sizeof(pictures[0])) != 0) {
        board_print("no pictures");
        return 1;
    }
    if (digits_init(&model, arena, sizeof(arena)) != MODEL_OK) {
        board_print("digits_init failed");
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (classify(&model, pictures[i], scores[i]) != MODEL_OK) {
            board_print("digits_run failed");
            return 1;
        }
    }
    return board_write("scores.bin", scores, count * sizeof(scores[0]));
}
