/* With the columns of b as rows, in scratch, all products are of rows. The zero points a0 and b0 are taken off the sums:

       sum((a - a0) * (b - b0)) = sum(a * b) - b0 * sum(a) + (depth * a0 * b0 - a0 * sum(b)) */
#include "tosa_matmul_s8.h"

#include "tosa_products.h"

/* The columns of b as rows; what is added to the sums of each. */
static void turn(const struct tosa_matmul_s8 *matmul, const int8_t *b, int32_t *biases, int8_t *columns) {
    const size_t depth = (size_t)matmul->depth, width = (size_t)matmul->width;
    const int32_t bias = matmul->depth * matmul->a_zero_point * matmul->b_zero_point;

    for (size_t j = 0; j < width; j++) {
        biases[j] = bias;
    }
#if defined(TOSA_HELIUM)
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)depth);

    for (size_t i = 0; i < depth; i++) {
        for (size_t j = 0; j < width; j += 8u) {
            const mve_pred16_t some = vctp16q((uint32_t)(width - j));

            vstrbq_scatter_offset_p_s16(&columns[j * depth + i], places, vldrbq_z_s16(&b[j], some), some);
        }
        for (size_t j = 0; matmul->a_zero_point != 0 && j < width; j += 4u) {
            const mve_pred16_t some = vctp32q((uint32_t)(width - j));
            const int32x4_t less = vmulq_n_s32(vldrbq_z_s32(&b[j], some), matmul->a_zero_point);

            vstrwq_p_s32(&biases[j], vsubq_s32(vldrwq_z_s32(&biases[j], some), less), some);
        }
        b += width;
    }
#else
    for (size_t i = 0; i < depth; i++) {
        for (size_t j = 0; j < width; j++) {
            const int8_t number = *b++;

            columns[j * depth + i] = number;
            biases[j] -= matmul->a_zero_point * number;
        }
    }
#endif
}

/* What is added to the sums of a row of a. */
static int32_t row_bias(const struct tosa_matmul_s8 *matmul, const int8_t *row) {
    int32_t sum = 0;

    if (matmul->b_zero_point == 0) {
        return 0;
    }
#if defined(TOSA_HELIUM)
    for (int32_t left = matmul->depth; left > 0; left -= 16) {
        sum = vaddvaq_s8(sum, vldrbq_z_s8(row, vctp8q((uint32_t)left)));
        row += 16;
    }
#else
    for (int32_t i = 0; i < matmul->depth; i++) {
        sum += row[i];
    }
#endif
    return -matmul->b_zero_point * sum;
}

#if defined(TOSA_HELIUM)

static inline void store(const struct tosa_matmul_s8 *matmul, int32x4_t sums, mve_pred16_t some, int8_t *output) {
    const int32x4_t high = vmulhq_s32(vshlq_r_s32(sums, matmul->left), vdupq_n_s32(matmul->multiplier));
    const int32x4_t value = vaddq_n_s32(vrshlq_n_s32(high, matmul->shift), matmul->zero_point);

    vstrbq_p_s32(output, vminq_s32(vmaxq_s32(value, vdupq_n_s32(matmul->least)), vdupq_n_s32(matmul->most)), some);
}

static void multiply(const struct tosa_matmul_s8 *matmul, const int8_t *a, const int32_t *biases, const int8_t *columns,
                     int8_t *output) {
    const uint32_t depth = (uint32_t)matmul->depth;
    const size_t width = (size_t)matmul->width;
    int32_t row = 0;

    while (row < matmul->height) {
        const int32_t count = row + 3 <= matmul->height ? 3 : 1;
        const int8_t *const rows = a;
        int32_t row_biases[3];

        for (int32_t i = 0; i < count; i++) {
            row_biases[i] = row_bias(matmul, a);
            a += depth;
        }
        for (size_t j = 0; j < width; j += 4u) {
            const mve_pred16_t some = vctp32q((uint32_t)(width - j));
            const size_t last = width - 1u - j;
            const int8_t *const c0 = &columns[j * depth], *const c1 = &c0[(last < 1u ? last : 1u) * depth];
            const int8_t *const c2 = &c0[(last < 2u ? last : 2u) * depth];
            const int8_t *const c3 = &c0[(last < 3u ? last : 3u) * depth];
            const int32x4_t bias = vldrwq_z_s32(&biases[j], some);
            int32x4_t v0 = vuninitializedq_s32(), v1 = vuninitializedq_s32(), v2 = vuninitializedq_s32();

            if (count == 1) {
                v0 = tosa_products_4_x_1(c0, c1, c2, c3, rows, depth);
                store(matmul, vaddq_n_s32(vaddq_s32(v0, bias), row_biases[0]), some, &output[j]);
                continue;
            }
            TOSA_PRODUCTS_2_X_3(c0, c2, 0, 2);
            TOSA_PRODUCTS_2_X_3(c1, c3, 1, 3);
            store(matmul, vaddq_n_s32(vaddq_s32(v0, bias), row_biases[0]), some, &output[j]);
            store(matmul, vaddq_n_s32(vaddq_s32(v1, bias), row_biases[1]), some, &output[width + j]);
            store(matmul, vaddq_n_s32(vaddq_s32(v2, bias), row_biases[2]), some, &output[2u * width + j]);
        }
        output += (size_t)count * width;
        row += count;
    }
}

#else

static inline int8_t rescaled(const struct tosa_matmul_s8 *matmul, int32_t sum) {
    const int32_t high = tosa_high_product((int32_t)((uint32_t)sum << matmul->left), matmul->multiplier);
    const int32_t value = ((high >> ~matmul->shift) + 2 * matmul->zero_point + 1) >> 1;

    return (int8_t)tosa_bounded(value, matmul->least, matmul->most);
}

static void multiply(const struct tosa_matmul_s8 *matmul, const int8_t *a, const int32_t *biases, const int8_t *columns,
                     int8_t *output) {
    const size_t depth = (size_t)matmul->depth, width = (size_t)matmul->width;

    for (int32_t row = 0; row < matmul->height; row++) {
        const int32_t bias = row_bias(matmul, a);
        size_t j = 0;

#if defined(TOSA_DSP)
        const size_t whole = depth & ~(size_t)3u;

        for (; j + 4u <= width; j += 4u) {
            int32_t sums[4];

            tosa_sum_four_channels(sums, a, &columns[j * depth], (uint32_t)depth);
            for (size_t k = 0; k < 4u; k++) {
                for (size_t i = whole; i < depth; i++) {
                    sums[k] += a[i] * columns[(j + k) * depth + i];
                }
                *output++ = rescaled(matmul, sums[k] + bias + biases[j + k]);
            }
        }
#endif
        for (; j < width; j++) {
            int32_t sum = 0;

            for (size_t i = 0; i < depth; i++) {
                sum += a[i] * columns[j * depth + i];
            }
            *output++ = rescaled(matmul, sum + bias + biases[j]);
        }
        a += depth;
    }
}

#endif

void tosa_matmul_s8(const struct tosa_matmul_s8 *matmul, int8_t *output, const int8_t *a, const int8_t *b,
                    void *scratch) {
    int32_t *const biases = scratch;
    int8_t *const columns = (int8_t *)&biases[matmul->width];

    for (int32_t batch = 0; batch < matmul->batches; batch++) {
        turn(matmul, b, biases, columns);
        multiply(matmul, a, biases, columns, output);
        a += (size_t)matmul->height * (size_t)matmul->depth;
        b += (size_t)matmul->depth * (size_t)matmul->width;
        output += (size_t)matmul->height * (size_t)matmul->width;
    }
}
