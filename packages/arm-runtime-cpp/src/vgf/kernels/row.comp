#version 460
#extension GL_GOOGLE_include_directive : require
// A fused program on rows: `width` threads hold a row, four elements each, so that steps may reduce it. Softmax and layer
// normalization are one such program.
#define ROWS
#include "memory.glsl"

bool has_elements;  // whether this thread has elements of its row

#include "program.glsl"
layout(local_size_x_id = 20) in;
layout(local_size_x = 64) in;
layout(constant_id = 21) const int width = 64;  // a power of two

#define ROW_SUM 0
#define ROW_MAX 1
#define ROW_MIN 2
#define ROW_FLOATS 4

shared int row_parts[256];

int row_combined(uint kind, int a, int b, bool ignore) {
    if ((kind & ROW_FLOATS) != 0u) {
        if ((kind & 3u) == ROW_SUM) return floatBitsToInt(intBitsToFloat(a) + intBitsToFloat(b));
        return floatBitsToInt(extreme(vec4(intBitsToFloat(a)), vec4(intBitsToFloat(b)), (kind & 3u) == ROW_MIN, ignore).x);
    }
    if ((kind & 3u) == ROW_SUM) return a + b;
    return (kind & 3u) == ROW_MAX ? max(a, b) : min(a, b);
}

/// Mode: what is done, and 8 where NaNs are ignored. The row's sum, or its extreme, in every lane.
STEP(row) {
    const uint kind = mode & 7u;
    const bool ignore = (mode & 8u) != 0u;
    const int nothing = (kind & 3u) == ROW_SUM ? 0
                        : (kind & ROW_FLOATS) != 0u ? ((kind & 3u) == ROW_MAX ? 0xff800000 : 0x7f800000)
                                                    : ((kind & 3u) == ROW_MAX ? 0x80000000 : 0x7fffffff);
    const int t = int(gl_LocalInvocationID.x), lane = t % width;
    int v = nothing;
    if (has_elements) v = row_combined(kind, row_combined(kind, a.x, a.y, ignore), row_combined(kind, a.z, a.w, ignore), ignore);
    row_parts[t] = v;
    barrier();
    for (int half_ = width / 2; half_ > 0; half_ /= 2) {
        if (lane < half_) row_parts[t] = row_combined(kind, row_parts[t], row_parts[t + half_], ignore);
        barrier();
    }
    const int whole = row_parts[t - lane];
    barrier();  // before the next step writes
    return ivec4(whole);
}

void main() {
    prepare();
    const int t = int(gl_LocalInvocationID.x), lane = t % width, length = p[2];
    const int number = group_number() * (int(gl_WorkGroupSize.x) / width) + t / width;
    has_elements = number < p[3] && 4 * lane < length;
    run(has_elements ? number * length + 4 * lane : 0);
}
