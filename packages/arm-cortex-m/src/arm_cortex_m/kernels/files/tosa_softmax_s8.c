#include "tosa_softmax_s8.h"

#if defined(TOSA_HELIUM)

static int32_t greatest(const int8_t *row, int32_t length) {
    int8_t found = INT8_MIN;

    for (; length > 0; length -= 16) {
        found = vmaxvq_p_s8(found, vld1q_z_s8(row, vctp8q((uint32_t)length)), vctp8q((uint32_t)length));
        row += 16;
    }
    return found;
}

/* Writes the exponentials of a row, and returns their sum. */
static int32_t exponentials(const int8_t *table, int32_t most, int8_t *output, const int8_t *row, int32_t length) {
    int32_t sum = 0;

    for (; length > 0; length -= 16) {
        const mve_pred16_t some = vctp8q((uint32_t)length);
        const uint8x16_t places =
            vsubq_u8(vdupq_n_u8((uint8_t)most), vreinterpretq_u8_s8(vldrbq_z_s8(row, some)));
        const int8x16_t numbers = vldrbq_gather_offset_z_s8(table, places, some);

        sum = vaddvaq_s8(sum, numbers);
        vstrbq_p_s8(output, numbers, some);
        output += 16;
        row += 16;
    }
    return sum;
}

static void products(const struct tosa_softmax_s8 *softmax, int32_t factor, int8_t *row) {
    const struct tosa_scale scale = softmax->scale;
    const int32_t zero_point = softmax->zero_point, out_zero_point = softmax->out_zero_point;
    const int32x4_t least = vdupq_n_s32(softmax->least), most = vdupq_n_s32(softmax->most);

    for (int32_t left = softmax->length; left > 0; left -= 4) {
        const mve_pred16_t some = vctp32q((uint32_t)left);
        const int32x4_t numbers = vmulq_n_s32(vsubq_n_s32(vldrbq_z_s32(row, some), zero_point), factor);
        const int32x4_t result = vaddq_n_s32(tosa_scaled4(&scale, numbers), out_zero_point);

        vstrbq_p_s32(row, vminq_s32(vmaxq_s32(result, least), most), some);
        row += 4;
    }
}

#else

static int32_t greatest(const int8_t *row, int32_t length) {
    int32_t found = *row;

    for (int32_t i = 1; i < length; i++) {
        found = row[i] > found ? row[i] : found;
    }
    return found;
}

/* Writes the exponentials of a row, and returns their sum. */
static int32_t exponentials(const int8_t *table, int32_t most, int8_t *output, const int8_t *row, int32_t length) {
    int32_t sum = 0;

    for (; length > 0; length--) {
        const int8_t number = table[most - *row++];

        sum += number;
        *output++ = number;
    }
    return sum;
}

static void products(const struct tosa_softmax_s8 *softmax, int32_t factor, int8_t *row) {
    const struct tosa_scale scale = softmax->scale;
    const int32_t zero_point = softmax->zero_point, out_zero_point = softmax->out_zero_point;
    const int32_t least = softmax->least, most = softmax->most;

    for (int32_t left = softmax->length; left > 0; left--) {
        const int32_t result = tosa_scaled(&scale, (*row - zero_point) * factor) + out_zero_point;

        *row++ = (int8_t)tosa_bounded(result, least, most);
    }
}

#endif

void tosa_softmax_s8(const struct tosa_softmax_s8 *softmax, int8_t *output, const int8_t *input) {
    const int32_t length = softmax->length;

    for (int32_t i = 0; i < softmax->rows; i++) {
        const int32_t most = greatest(input, length);
        const int32_t sum = exponentials(softmax->exponentials, most, output, input, length);
        const int32_t scaled = tosa_scaled(&softmax->sum_scale, sum - length * softmax->sum_zero_point);
        const int32_t place = tosa_bounded(scaled + softmax->sum_out_zero_point, softmax->sum_least, softmax->sum_most);

        products(softmax, softmax->reciprocals[place + 128], output);
        input += length;
        output += length;
    }
}
