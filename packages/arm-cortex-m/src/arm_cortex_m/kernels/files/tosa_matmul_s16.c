/* With the columns of b as rows, in scratch, all products are of rows: two of a and two columns at a time. */
#include "tosa_matmul_s16.h"

/* The columns of b as rows. */
static void turn(const struct tosa_matmul_s16 *matmul, const int16_t *b, int16_t *columns) {
    const size_t depth = (size_t)matmul->depth, width = (size_t)matmul->width;

#if defined(TOSA_HELIUM)
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)depth);

    for (size_t i = 0; i < depth; i++) {
        for (size_t j = 0; j < width; j += 8u) {
            const mve_pred16_t some = vctp16q((uint32_t)(width - j));

            vstrhq_scatter_shifted_offset_p_s16(&columns[j * depth + i], places, vldrhq_z_s16(&b[j], some), some);
        }
        b += width;
    }
#else
    for (size_t i = 0; i < depth; i++) {
        for (size_t j = 0; j < width; j++) {
            columns[j * depth + i] = *b++;
        }
    }
#endif
}

static inline int16_t result(const struct tosa_matmul_s16 *matmul, int64_t sum) {
    const int64_t nudge = matmul->narrow == 0 ? 0 : (int64_t)1 << (matmul->narrow - 1);
    const int32_t narrowed = (int32_t)((sum + nudge) >> matmul->narrow);

    return (int16_t)tosa_bounded(tosa_scaled(&matmul->scale, narrowed) + matmul->zero_point, matmul->least,
                                 matmul->most);
}

/* Sums of products of the rows a and b and the columns c and d: ac, ad, bc, bd. */
static inline void sum_four(int64_t sums[4], const int16_t *a, const int16_t *b, const int16_t *c, const int16_t *d,
                            size_t depth) {
    int64_t ac = 0, ad = 0, bc = 0, bd = 0;

#if defined(TOSA_HELIUM)
    for (int32_t left = (int32_t)depth; left > 0; left -= 8) {
        const mve_pred16_t some = vctp16q((uint32_t)left);
        const int16x8_t first = vldrhq_z_s16(a, some), second = vldrhq_z_s16(b, some);
        const int16x8_t third = vldrhq_z_s16(c, some), fourth = vldrhq_z_s16(d, some);

        ac = vmlaldavaq_s16(ac, first, third);
        ad = vmlaldavaq_s16(ad, first, fourth);
        bc = vmlaldavaq_s16(bc, second, third);
        bd = vmlaldavaq_s16(bd, second, fourth);
        a += 8;
        b += 8;
        c += 8;
        d += 8;
    }
#else
#if defined(TOSA_DSP)
    for (; depth >= 2u; depth -= 2u) {
        const int16x2_t first = (int16x2_t)tosa_word((const int8_t *)a), second = (int16x2_t)tosa_word((const int8_t *)b);
        const int16x2_t third = (int16x2_t)tosa_word((const int8_t *)c), fourth = (int16x2_t)tosa_word((const int8_t *)d);

        ac = __smlald(first, third, ac);
        ad = __smlald(first, fourth, ad);
        bc = __smlald(second, third, bc);
        bd = __smlald(second, fourth, bd);
        a += 2;
        b += 2;
        c += 2;
        d += 2;
    }
#endif
    for (; depth != 0u; depth--) {
        const int32_t product_ac = *a * *c, product_ad = *a++ * *d, product_bc = *b * *c++, product_bd = *b++ * *d++;

        ac += product_ac;
        ad += product_ad;
        bc += product_bc;
        bd += product_bd;
    }
#endif
    sums[0] = ac;
    sums[1] = ad;
    sums[2] = bc;
    sums[3] = bd;
}

/* A last row, or a last column, is multiplied as if it were two: what is computed twice is the same. */
static void multiply(const struct tosa_matmul_s16 *matmul, const int16_t *a, const int16_t *columns, int16_t *output) {
    const size_t depth = (size_t)matmul->depth, width = (size_t)matmul->width, height = (size_t)matmul->height;

    for (size_t i = 0; i < height; i += 2u) {
        const size_t next = i + 1u < height ? 1u : 0u;
        const int16_t *const row = &a[i * depth];
        int16_t *const to = &output[i * width];

        for (size_t j = 0; j < width; j += 2u) {
            const size_t beside = j + 1u < width ? 1u : 0u;
            const int16_t *const column = &columns[j * depth];
            int64_t sums[4];

            sum_four(sums, row, &row[next * depth], column, &column[beside * depth], depth);
            to[j] = result(matmul, sums[0]);
            to[j + beside] = result(matmul, sums[beside]);
            to[next * width + j] = result(matmul, sums[2u * next]);
            to[next * width + j + beside] = result(matmul, sums[2u * next + beside]);
        }
    }
}

void tosa_matmul_s16(const struct tosa_matmul_s16 *matmul, int16_t *output, const int16_t *a, const int16_t *b,
                     void *scratch) {
    int16_t *const columns = scratch;

    for (int32_t batch = 0; batch < matmul->batches; batch++) {
        turn(matmul, b, columns);
        multiply(matmul, a, columns, output);
        a += (size_t)matmul->height * (size_t)matmul->depth;
        b += (size_t)matmul->depth * (size_t)matmul->width;
        output += (size_t)matmul->height * (size_t)matmul->width;
    }
}
