#include "tosa_binary_s8.h"

#if defined(TOSA_HELIUM)

static inline int32x4_t operand(const int8_t *at, int32_t inner, mve_pred16_t some, int32_t zero_point,
                                const struct tosa_scale *scale) {
    const int32x4_t values = inner != 0 ? vldrbq_z_s32(at, some) : vdupq_n_s32(*at);

    return tosa_scaled4(scale, vsubq_n_s32(values, zero_point));
}

static inline void run(const struct tosa_binary_s8 *binary, int32_t operation, int8_t *output, const int8_t *a,
                       const int8_t *b) {
    const struct tosa_scale a_scale = binary->a_scale, b_scale = binary->b_scale, scale = binary->scale;
    const int32_t a_inner = binary->a_inner, b_inner = binary->b_inner;
    const int32_t a_zero_point = binary->a_zero_point, b_zero_point = binary->b_zero_point;
    const int32_t zero_point = binary->zero_point;
    const int32x4_t least = vdupq_n_s32(binary->least), most = vdupq_n_s32(binary->most);

    for (int32_t left = binary->inner; left > 0; left -= 4) {
        const mve_pred16_t some = vctp32q((uint32_t)left);
        const int32x4_t x = operand(a, a_inner, some, a_zero_point, &a_scale);
        const int32x4_t y = operand(b, b_inner, some, b_zero_point, &b_scale);
        int32x4_t result;

        switch (operation) {
        case TOSA_ADD:
            result = vaddq_s32(x, y);
            break;
        case TOSA_SUB:
            result = vsubq_s32(x, y);
            break;
        case TOSA_MUL:
            result = vmulq_s32(x, y);
            break;
        case TOSA_MAXIMUM:
            result = vmaxq_s32(x, y);
            break;
        default:
            result = vminq_s32(x, y);
            break;
        }
        result = vaddq_n_s32(tosa_scaled4(&scale, result), zero_point);
        vstrbq_p_s32(output, vminq_s32(vmaxq_s32(result, least), most), some);
        output += 4;
        a += 4 * a_inner;
        b += 4 * b_inner;
    }
}

#else

static inline void run(const struct tosa_binary_s8 *binary, int32_t operation, int8_t *output, const int8_t *a,
                       const int8_t *b) {
    const struct tosa_scale a_scale = binary->a_scale, b_scale = binary->b_scale, scale = binary->scale;
    const int32_t a_inner = binary->a_inner, b_inner = binary->b_inner;
    const int32_t a_zero_point = binary->a_zero_point, b_zero_point = binary->b_zero_point;
    const int32_t zero_point = binary->zero_point, least = binary->least, most = binary->most;

    for (int32_t left = binary->inner; left > 0; left--) {
        const int32_t x = tosa_scaled(&a_scale, *a - a_zero_point);
        const int32_t y = tosa_scaled(&b_scale, *b - b_zero_point);
        int32_t result;

        switch (operation) {
        case TOSA_ADD:
            result = x + y;
            break;
        case TOSA_SUB:
            result = x - y;
            break;
        case TOSA_MUL:
            result = x * y;
            break;
        case TOSA_MAXIMUM:
            result = x > y ? x : y;
            break;
        default:
            result = x < y ? x : y;
            break;
        }
        *output++ = (int8_t)tosa_bounded(tosa_scaled(&scale, result) + zero_point, least, most);
        a += a_inner;
        b += b_inner;
    }
}

#endif

void tosa_binary_s8(const struct tosa_binary_s8 *binary, int8_t *output, const int8_t *a, const int8_t *b) {
    for (int32_t i = 0; i < binary->outer; i++) {
        if (binary->operation == TOSA_ADD) {
            run(binary, TOSA_ADD, output, a, b); /* by itself: what networks have most of */
        } else {
            run(binary, binary->operation, output, a, b);
        }
        output += binary->inner;
        a += binary->a_outer;
        b += binary->b_outer;
    }
}
