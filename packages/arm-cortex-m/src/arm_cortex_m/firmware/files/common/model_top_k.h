/* The places of the greatest numbers of a model's output, such as the likeliest of its classes. Integers keep the order of
   the real numbers that they stand for, so nothing need be dequantized. */
#ifndef MODEL_TOP_K_H
#define MODEL_TOP_K_H

#include <stddef.h>
#include <stdint.h>

/* model_top_k_TYPE(scores, count, places, k): writes the places of the k greatest of `count` scores, the greatest first; of
   equal ones, the first is first. Returns how many there are: k, or `count` if that is less. Takes no memory but `places`. */
#define MODEL_TOP_K(type)                                                                                          \
    static inline size_t model_top_k_##type(const type##_t *scores, size_t count, size_t *places, size_t k) {      \
        size_t found = 0;                                                                                          \
                                                                                                                   \
        for (size_t place = 0; place < count && k > 0; place++) {                                                  \
            size_t rank = found < k ? found++ : k;                                                                 \
                                                                                                                   \
            for (; rank > 0 && scores[place] > scores[places[rank - 1]]; rank--) {                                 \
                if (rank < k) {                                                                                    \
                    places[rank] = places[rank - 1];                                                               \
                }                                                                                                  \
            }                                                                                                      \
            if (rank < k) {                                                                                        \
                places[rank] = place;                                                                              \
            }                                                                                                      \
        }                                                                                                          \
        return found;                                                                                              \
    }

MODEL_TOP_K(int8)
MODEL_TOP_K(int16)

#endif
