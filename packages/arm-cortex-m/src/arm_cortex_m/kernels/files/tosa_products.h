/* Sums of products of rows of int8, several rows at a time. */
#ifndef TOSA_PRODUCTS_H
#define TOSA_PRODUCTS_H

#include "tosa_kernels.h"

#if defined(TOSA_HELIUM)

#define TOSA_TO_LANES(vector, lane0, lane2, number0, number2)                                                          \
    __asm__("vmov %q0[" #lane2 "], %q0[" #lane0 "], %1, %2" : "+w"(vector) : "r"(number0), "r"(number2))

/* Products of four rows of weights and one of the matrix, summed. */
static inline int32x4_t tosa_products_4_x_1(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d,
                                            const int8_t *x, uint32_t depth) {
    register uint32_t left __asm__("lr") = depth;
    int32_t a0 = 0, b0 = 0, c0 = 0, d0 = 0;
    int32x4_t sums = vuninitializedq_s32();

    __asm__ volatile("dlstp.8 lr, lr\n"
                     "1:\n"
                     "vldrb.8 q0, [%[x]], #16\n"
                     "vldrb.8 q1, [%[a]], #16\n"
                     "vmladava.s8 %[a0], q0, q1\n"
                     "vldrb.8 q2, [%[b]], #16\n"
                     "vmladava.s8 %[b0], q0, q2\n"
                     "vldrb.8 q1, [%[c]], #16\n"
                     "vmladava.s8 %[c0], q0, q1\n"
                     "vldrb.8 q2, [%[d]], #16\n"
                     "vmladava.s8 %[d0], q0, q2\n"
                     "letp lr, 1b\n"
                     : [a0] "+Te"(a0), [b0] "+Te"(b0), [c0] "+Te"(c0), [d0] "+Te"(d0), [a] "+r"(a), [b] "+r"(b),
                       [c] "+r"(c), [d] "+r"(d), [x] "+r"(x), "+r"(left)
                     :
                     : "q0", "q1", "q2", "memory");
    TOSA_TO_LANES(sums, 0, 2, a0, c0);
    TOSA_TO_LANES(sums, 1, 3, b0, d0);
    return sums;
}

/* Products of two rows of weights and three of the matrix, summed: the first row's come to an even lane of the results,
   the second's to the lane after the next. Of the matrix it reads `rows`, each of `depth` numbers; the results are `v0`,
   `v1` and `v2`. */
#define TOSA_PRODUCTS_2_X_3(weights_a, weights_b, lane0, lane2)                                                        \
    do {                                                                                                               \
        register uint32_t left __asm__("lr") = depth;                                                                  \
        const int8_t *a = weights_a, *b = weights_b, *x0 = rows, *x1 = rows + depth, *x2 = x1 + depth;                 \
        int32_t a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;                                                        \
                                                                                                                       \
        __asm__ volatile("dlstp.8 lr, lr\n"                                                                            \
                         "1:\n"                                                                                        \
                         "vldrb.8 q0, [%[x0]], #16\n"                                                                  \
                         "vldrb.8 q1, [%[a]], #16\n"                                                                   \
                         "vmladava.s8 %[a0], q0, q1\n"                                                                 \
                         "vldrb.8 q2, [%[b]], #16\n"                                                                   \
                         "vmladava.s8 %[b0], q0, q2\n"                                                                 \
                         "vldrb.8 q0, [%[x1]], #16\n"                                                                  \
                         "vmladava.s8 %[a1], q0, q1\n"                                                                 \
                         "vmladava.s8 %[b1], q0, q2\n"                                                                 \
                         "vldrb.8 q0, [%[x2]], #16\n"                                                                  \
                         "vmladava.s8 %[a2], q0, q1\n"                                                                 \
                         "vmladava.s8 %[b2], q0, q2\n"                                                                 \
                         "letp lr, 1b\n"                                                                               \
                         : [a0] "+Te"(a0), [a1] "+Te"(a1), [a2] "+Te"(a2), [b0] "+Te"(b0), [b1] "+Te"(b1),             \
                           [b2] "+Te"(b2), [a] "+r"(a), [b] "+r"(b), [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2),      \
                           "+r"(left)                                                                                  \
                         :                                                                                             \
                         : "q0", "q1", "q2", "memory");                                                                \
        TOSA_TO_LANES(v0, lane0, lane2, a0, b0);                                                                       \
        TOSA_TO_LANES(v1, lane0, lane2, a1, b1);                                                                       \
        TOSA_TO_LANES(v2, lane0, lane2, a2, b2);                                                                       \
    } while (0)

#elif defined(TOSA_DSP)

/* The next four numbers of a channel's weights, and of four rows, one beside the other. */
#define TOSA_FOUR_BY_FOUR \
    "ldr %[odd], [%[weights]], #4\n" \
    "ldmia %[x]!, {r4, r5, r6, r8}\n" \
    "sxtb16 %[even], %[odd]\n" \
    "smlad %[sum0], %[even], r4, %[sum0]\n" \
    "smlad %[sum1], %[even], r5, %[sum1]\n" \
    "smlad %[sum2], %[even], r6, %[sum2]\n" \
    "smlad %[sum3], %[even], r8, %[sum3]\n" \
    "ldmia %[x]!, {r4, r5, r6, r8}\n" \
    "sxtb16 %[odd], %[odd], ror #8\n" \
    "smlad %[sum0], %[odd], r4, %[sum0]\n" \
    "smlad %[sum1], %[odd], r5, %[sum1]\n" \
    "smlad %[sum2], %[odd], r6, %[sum2]\n" \
    "smlad %[sum3], %[odd], r8, %[sum3]\n"

static inline int32_t tosa_four_products(uint32_t x, uint32_t weights, int32_t sum) {
    sum = __smlad((int32_t)tosa_even_bytes(x), (int32_t)tosa_even_bytes(weights), sum);
    return __smlad((int32_t)tosa_odd_bytes(x), (int32_t)tosa_odd_bytes(weights), sum);
}

/* The next four numbers of the row. */
#define TOSA_ROW_BY_FOUR                                                                                               \
    "ldr %[odd], [%[row]], #4\n"                                                                                       \
    "sxtb16 %[even], %[odd]\n"                                                                                         \
    "sxtb16 %[odd], %[odd], ror #8\n"

/* The next four numbers of a channel of which the weights have come to `word`, and of the row. */
#define TOSA_CHANNEL_BY_FOUR(sum)                                                                                      \
    "sxtb16 %[halves], %[word]\n"                                                                                      \
    "sxtb16 %[word], %[word], ror #8\n"                                                                                \
    "smlad %[" sum "], %[halves], %[even], %[" sum "]\n"                                                               \
    "smlad %[" sum "], %[word], %[odd], %[" sum "]\n"

/* A row that the input has and four channels: sums of the products of all whole words. */
static inline void tosa_sum_four_channels(int32_t sums[4], const int8_t *row, const int8_t *weights, uint32_t depth) {
    const int8_t *const end = &row[depth & ~3u];
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    uint32_t even, odd, word, halves;

    if (row != end) {
        __asm__ volatile("1:\n" TOSA_ROW_BY_FOUR "ldr %[word], [%[weights], %[depth]]\n" TOSA_CHANNEL_BY_FOUR("sum1")
                         "ldr %[word], [%[weights], %[depth], lsl #1]\n" TOSA_CHANNEL_BY_FOUR("sum2")
                         "ldr %[word], [%[weights], %[thrice]]\n" TOSA_CHANNEL_BY_FOUR("sum3")
                         "ldr %[word], [%[weights]], #4\n" TOSA_CHANNEL_BY_FOUR("sum0")
                         "cmp %[row], %[end]\n"
                         "bne 1b\n"
                         : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3), [row] "+r"(row),
                           [weights] "+r"(weights), [even] "=&r"(even), [odd] "=&r"(odd), [word] "=&r"(word),
                           [halves] "=&r"(halves)
                         : [depth] "r"(depth), [thrice] "r"(3u * depth), [end] "r"(end)
                         : "cc", "memory");
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The same for two channels.

   Args: `next`, from the weights of the first to those of the second. */
static inline void tosa_sum_two_channels(int32_t sums[2], const int8_t *row, const int8_t *weights, uint32_t next,
                                         uint32_t depth) {
    const int8_t *const end = &row[depth & ~3u];
    int32_t sum0 = 0, sum1 = 0;
    uint32_t even, odd, word, halves;

    if (row != end) {
        __asm__ volatile("1:\n" TOSA_ROW_BY_FOUR "ldr %[word], [%[weights], %[next]]\n" TOSA_CHANNEL_BY_FOUR("sum1")
                         "ldr %[word], [%[weights]], #4\n" TOSA_CHANNEL_BY_FOUR("sum0")
                         "cmp %[row], %[end]\n"
                         "bne 1b\n"
                         : [sum0] "+r"(sum0), [sum1] "+r"(sum1), [row] "+r"(row), [weights] "+r"(weights),
                           [even] "=&r"(even), [odd] "=&r"(odd), [word] "=&r"(word), [halves] "=&r"(halves)
                         : [next] "r"(next), [end] "r"(end)
                         : "cc", "memory");
    }
    sums[0] = sum0;
    sums[1] = sum1;
}

#endif
#endif
