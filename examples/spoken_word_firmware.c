/* Keyword spotting: the program that examples/spoken_word.py puts in the place of app/main.c. Reads word.wav, a second of sound
   in 16 bits, computes features, and prints the word. */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "spoken_word_tables.h"
#include "model_memory.h"
#include "model_numbers.h"
#include "models/keyword.h"

/* The beginning of a .wav file as Microsoft defines it, with one chunk of format and one of data. */
typedef struct wav_file {
    char riff[4];
    uint32_t riff_bytes;
    char wave[4];
    char format[4];
    uint32_t format_bytes;
    uint16_t coding, channels;
    uint32_t rate, bytes_per_second;
    uint16_t bytes_per_sample, bits;
    char data[4];
    uint32_t data_bytes;
    int16_t samples[RATE];
} wav_file;

enum { CODING_INTEGERS = 1, FEATURE_MIDDLE = 512, FEATURE_UNIT = 64 };

MODEL_SRAM static uint8_t arena[KEYWORD_ARENA_BYTES];
static wav_file wav;

static int is_wav(void) {
    return memcmp(wav.riff, "RIFF", 4) == 0 && memcmp(wav.wave, "WAVE", 4) == 0 && wav.coding == CODING_INTEGERS &&
           wav.channels == 1 && wav.rate == RATE && wav.bits == 16 && memcmp(wav.data, "data", 4) == 0;
}

/* 16 times the logarithm, base 2: the place of the first bit, and the four bits behind it. */
static int32_t logarithm(uint64_t energy) {
    int32_t whole = 0;

    while (energy >> whole > 1u) {
        whole++;
    }
    return 16 * whole + (int32_t)((whole >= 4 ? energy >> (whole - 4) : energy << (4 - whole)) & 15u);
}

static int32_t feature(const int16_t *frame, int band) {
    uint64_t energy = 0;

    for (int part = 0; part < 2; part++) {
        int64_t sum = 0;
        for (int i = 0; i < FRAME; i++) {
            sum += frame[i] * filters[part][band][i];
        }
        sum >>= 14;
        energy += (uint64_t)(sum * sum);
    }
    return logarithm(energy > 0u ? energy : 1u);
}

static void quantize_features(int8_t *input) {
    for (int frame = 0; frame < FRAMES; frame++) {
        for (int band = 0; band < BANDS; band++) {
            const int32_t value = feature(&wav.samples[frame * HOP], band);
            const float real = (float)(value - FEATURE_MIDDLE) / (float)FEATURE_UNIT;

            input[frame * BANDS + band] = (int8_t)model_quantize(real, KEYWORD_INPUT0_INVERSE_SCALE, KEYWORD_INPUT0_ZERO_POINT,
                                                                 KEYWORD_INPUT0_LEAST, KEYWORD_INPUT0_MOST);
        }
    }
}

int main(void) {
    static int8_t input[KEYWORD_INPUT0_BYTES], output[KEYWORD_OUTPUT0_BYTES];
    const keyword_inputs inputs = {input};
    const keyword_outputs outputs = {output};
    keyword_model model;
    int best = 0;

    if (board_read("word.wav", &wav, sizeof(wav)) != 0 || !is_wav()) {
        board_print("word.wav is not a second of sound: one channel, 16 bits, 8000 samples");
        return 1;
    }
    quantize_features(input);
    if (keyword_init(&model, arena, sizeof(arena)) != MODEL_OK || keyword_run(&model, &inputs, &outputs) != MODEL_OK) {
        board_print("the model failed");
        return 1;
    }
    for (int word = 1; word < (int)KEYWORD_OUTPUT0_BYTES; word++) {
        if (output[word] > output[best]) {
            best = word;
        }
    }
    board_print(words[best]);
    return 0;
}
