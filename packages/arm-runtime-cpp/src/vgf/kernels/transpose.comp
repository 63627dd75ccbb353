#version 460
#extension GL_GOOGLE_include_directive : require
// TRANSPOSE whose innermost dimension is not the source's: a workgroup turns a tile of 32 by 32 elements, so that reads
// and writes are both of neighbours. The result's rows are whole words.
#include "memory.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int unit = 4;  // bytes of an element: 1, 2 or 4
layout(constant_id = 21) const int rank = 0;  // dimensions besides the two of the tile
layout(constant_id = 24) const int source_buffer = 0;
layout(constant_id = 25) const int result_buffer = 0;

shared uint tile[32][33];  // by the place along the source's innermost dimension

void main() {
    const int local = int(gl_LocalInvocationID.x), per_word = 4 / unit;
    const int width = p[6], height = p[7];  // along the innermost dimensions of the result and of the source
    int rest = group_number();
    const int x0 = rest % p[4] * 32;
    rest /= p[4];
    const int y0 = rest % p[5] * 32;
    rest /= p[5];
    const bool inside = rest < p[11];
    int from = p[2], to = 0;
    for (int d = 0; d < rank; ++d) {
        const ivec4 dim = ivec4(constants4[p[10] + d]);  // size, strides of the source and the result
        from += rest % dim.x * dim.y;
        to += rest % dim.x * dim.z;
        rest /= dim.x;
    }
    const int lane = local & 31;
    for (int i = local >> 5; i < 32; i += 2) {
        const int x = x0 + i, y = y0 + lane;
        if (inside && x < width && y < height) {
            const int at = from + x * p[8] + y;
            tile[lane][i] = word(source_buffer, at / per_word) >> 8 * unit * (at % per_word);
        }
    }
    barrier();
    const int words = 32 / per_word;  // of a row of the tile
    const uint of_element = unit == 4 ? 0xffffffffu : (1u << 8 * unit) - 1;
    for (int t = local; t < 32 * words; t += 64) {
        const int y = t / words, x = t % words * per_word;
        if (!inside || y0 + y >= height || x0 + x >= width) continue;
        uint value = 0;
        [[unroll]] for (int i = 0; i < 4 / unit; ++i) value |= (tile[y][x + i] & of_element) << 8 * unit * i;
        put(result_buffer, p[3] + (to + (y0 + y) * p[9] + x0 + x) / per_word, value);
    }
}
