#version 460
#extension GL_GOOGLE_include_directive : require
// AVG_POOL2D and MAX_POOL2D: four elements of the result, whose windows `split` threads share.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const bool average = false;
layout(constant_id = 22) const int split = 1;
layout(constant_id = 23) const bool vectors = false;  // the channels are a multiple of four
layout(constant_id = 24) const int input_buffer = 0;
layout(constant_id = 25) const bool ignore_nan = false;

const bool floats = type >= TYPE_FLOAT16;
shared ivec4 partial[64];

ivec4 taken(ivec4 a, ivec4 b) {
    if (floats && average) return floatBitsToInt(intBitsToFloat(a) + intBitsToFloat(b));
    if (floats) return floatBitsToInt(extreme(intBitsToFloat(a), intBitsToFloat(b), false, ignore_nan));
    return average ? a + b : max(a, b);
}

/// reciprocal_scale of TOSA: (2^30 + 1) * 2^shift / count, by long division.
int multiplier_of(int count, int shift) {
    uint quotient = 0, rest = 0;
    for (int bit = 30 + shift; bit >= 0; --bit) {
        rest = rest << 1 | uint(bit == 30 + shift || bit == shift);
        quotient <<= 1;
        if (rest >= uint(count)) {
            rest -= uint(count);
            quotient |= 1u;
        }
    }
    return int(quotient);
}

int averaged(int sum, int count) {
    count = max(count, 1);
    if (floats) return floatBitsToInt(intBitsToFloat(sum) / float(count));
    const int shift = count == 1 ? 0 : findMSB(count - 1) + 1, limit = type == TYPE_INT8 ? 127 : 32767;
    const int multiplier = count == p[16] ? p[17] : multiplier_of(count, shift);
    return clamp(scaled(sum - count * p[14], multiplier, 30 + shift, false) + p[15], -limit - 1, limit);
}

void main() {
    prepare();
    const int local = int(gl_LocalInvocationID.x), lane = local % split;
    const int f = 4 * (group_number() * (64 / split) + local / split);
    const int height = p[3], width = p[4], channels = p[5], out_height = p[6], out_width = p[7];
    // Of floats the least is -infinity, or a NaN where they are passed over; of a sum nothing is 0.
    const ivec4 nothing = ivec4(average ? 0 : !floats ? 0x80000000 : ignore_nan ? 0x7fc00000 : 0xff800000);
    ivec4 found = nothing, counts = ivec4(1);
    [[unroll]] for (int i = 0; i < (vectors ? 1 : 4) && f < p[1]; ++i) {
        int at = f + i;
        const int c = at % channels;
        at /= channels;
        const int x = at % out_width * p[11] - p[13];
        at /= out_width;
        const int y = at % out_height * p[10] - p[12], image = at / out_height * height;
        const int x0 = max(x, 0), x1 = min(x + p[9], width), columns = x1 - x0;
        const int y0 = max(y, 0), y1 = min(y + p[8], height);
        ivec4 v = nothing;
        int iy = columns > 0 ? y0 : y1, ix = x0 + lane;
        while (iy < y1) {
            [[unroll]] for (int step = 0; step < 2; ++step) {  // half as many rounds: see plan/lanes.hpp
                if (ix >= x1 && iy < y1) {
                    const int rows = (ix - x0) / columns;
                    ix -= rows * columns;
                    iy += rows;
                }
                if (iy >= y1) continue;
                const int from = p[2] + ((image + iy) * width + ix) * channels + c;
                v = taken(v, vectors ? elements(input_buffer, type, from) : ivec4(element(input_buffer, type, from)));
                ix += split;
            }
        }
        if (vectors) {
            found = v;
            counts = ivec4(columns * (y1 - y0));
        } else {
            found[i] = v.x;
            counts[i] = columns * (y1 - y0);
        }
    }
    if (split > 1) {
        partial[local] = found;
        barrier();
        for (int rest = split / 2; rest > 0; rest /= 2) {
            if (lane < rest) partial[local] = taken(partial[local], partial[local + rest]);
            barrier();
        }
        found = partial[local];
    }
    if (lane > 0 || f >= p[1]) return;
    if (average) {
        [[unroll]] for (int i = 0; i < 4; ++i) found[i] = averaged(found[i], counts[i]);
    }
    r[0] = found;
    run(f);
}
