#include "tosa_table_s8.h"

void tosa_table_s8(const struct tosa_table_s8 *look_up, int8_t *output, const int8_t *input) {
    const int8_t *const table = look_up->table;
    int32_t left = look_up->count;

#if defined(TOSA_HELIUM)
    for (; left > 0; left -= 16) {
        const mve_pred16_t some = vctp8q((uint32_t)left);
        const uint8x16_t places = veorq_u8(vldrbq_z_u8((const uint8_t *)input, some), vdupq_n_u8(128u));

        vstrbq_p_s8(output, vldrbq_gather_offset_z_s8(table, places, some), some);
        output += 16;
        input += 16;
    }
#else
    for (; left > 0; left--) {
        *output++ = table[*input++ + 128];
    }
#endif
}
