/* Real numbers to a model's integers and back, for programs that have real numbers: a model itself computes with none.
   The compiler must not reorder sums of floats: build without -ffast-math. */
#ifndef MODEL_NUMBERS_H
#define MODEL_NUMBERS_H

#include <stdint.h>

/* The integer that stands for a real number: rounded, halves to the even one, and no less than `least`, no more than
   `most`. The arguments are macros of the input in the model's header:

       model_quantize(real, NET_INPUT0_INVERSE_SCALE, NET_INPUT0_ZERO_POINT, NET_INPUT0_LEAST, NET_INPUT0_MOST) */
static inline int32_t model_quantize(float real, float inverse_scale, int32_t zero_point, int32_t least, int32_t most) {
    const float far_away = 131072.0f;          /* 2^17: further from zero than any integer of 16 bits */
    const float whole_numbers_only = 12582912.0f; /* 1.5 * 2^23: a float of that size has no fraction */
    float steps = real * inverse_scale;
    int32_t integer;

    if (steps > far_away) {
        steps = far_away;
    }
    if (!(steps > -far_away)) {
        steps = -far_away;
    }
    steps = (steps + whole_numbers_only) - whole_numbers_only;
    integer = (int32_t)steps + zero_point;
    if (integer < least) {
        integer = least;
    }
    return integer < most ? integer : most;
}

/* The real number that an integer of an output stands for. */
static inline float model_dequantize(int32_t integer, float scale, int32_t zero_point) {
    return (float)(integer - zero_point) * scale;
}

#endif
