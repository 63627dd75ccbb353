#version 460
#extension GL_GOOGLE_include_directive : require
// TRANSPOSE whose innermost dimension is not the source's: a thread turns 4 by 4 elements, so that it reads and writes
// neighbours. The result's rows are fours of elements.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const int rank = 0;          // dimensions besides the two that are turned
layout(constant_id = 22) const int across = 8;        // fours of a row that a workgroup makes
layout(constant_id = 23) const bool vectors = false;  // the source's rows are fours, too
layout(constant_id = 24) const int source_buffer = 0;

/// Four neighbours in the source, of which `count` are there.
ivec4 neighbours(int at, int count) {
    if (vectors) return elements(source_buffer, type, at);
    ivec4 v = ivec4(0);
    [[unroll]] for (int i = 0; i < 4; ++i) {
        if (i < count) v[i] = element(source_buffer, type, at + i);
    }
    return v;
}

void main() {
    prepare();
    const int local = int(gl_LocalInvocationID.x);
    const int width = p[6], height = p[7];  // along the innermost dimensions of the result and of the source
    int rest = group_number();
    const int x = 4 * (rest % p[4] * across + local % across);
    rest /= p[4];
    const int y = 4 * (rest % p[5] * (64 / across) + local / across);
    rest /= p[5];
    if (x >= width || y >= height || rest >= p[11]) return;
    int from = p[2] + x * p[8] + y, to = y * p[9] + x;
    for (int d = 0; d < rank; ++d) {
        const ivec4 dim = ivec4(constants4[p[10] + d]);  // size, strides of the source and the result
        from += rest % dim.x * dim.y;
        to += rest % dim.x * dim.z;
        rest /= dim.x;
    }
    const int count = min(4, height - y);
    ivec4 columns[4];
    [[unroll]] for (int i = 0; i < 4; ++i) columns[i] = neighbours(from + i * p[8], count);
    for (int row = 0; row < count; ++row) {
        // A choice among registers while the program runs.
        [[unroll]] for (int i = 0; i < 4; ++i) {
            if (i == row) r[0] = ivec4(columns[0][i], columns[1][i], columns[2][i], columns[3][i]);
        }
        run(to + row * p[9]);
    }
}
