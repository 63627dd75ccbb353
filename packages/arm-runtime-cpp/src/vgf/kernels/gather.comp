#version 460
#extension GL_GOOGLE_include_directive : require
// GATHER: values [N, K, C] and indices [N, W] to [N, W, C]. An index out of range takes the nearest row.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const bool vectors = false;  // C is a multiple of four
layout(constant_id = 24) const int values_buffer = 0;
layout(constant_id = 25) const int indices_buffer = 0;

void main() {
    prepare();
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f >= p[1]) return;
    const int rows = p[4], channels = p[5], picks = p[6];
    [[unroll]] for (int i = 0; i < (vectors ? 1 : 4); ++i) {
        if (f + i >= p[1]) break;
        const int pick = (f + i) / channels, c = (f + i) % channels;
        const int row = clamp(element(indices_buffer, TYPE_INT32, p[3] + pick), 0, rows - 1);
        const int from = p[2] + (pick / picks * rows + row) * channels + c;
        if (vectors) {
            r[0] = elements(values_buffer, type, from);
        } else {
            r[0][i] = element(values_buffer, type, from);
        }
    }
    run(f);
}
