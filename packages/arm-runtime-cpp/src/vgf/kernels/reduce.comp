#version 460
#extension GL_GOOGLE_include_directive : require
// REDUCE_... and ARGMAX: [outer, n, inner] to [outer, inner]. Four elements of the result, whose axis `split` threads
// share.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

#define KIND_SUM 0
#define KIND_PRODUCT 1
#define KIND_MAX 2  // ANY as well: bools are 0 and 1
#define KIND_MIN 3  // ALL as well
#define KIND_ARGMAX 4
layout(constant_id = 20) const int type = TYPE_INT8;
layout(constant_id = 21) const int kind = KIND_SUM;
layout(constant_id = 22) const int split = 1;
layout(constant_id = 23) const int vectors = 0;  // loads of four: 1: along `inner`, 2: along the axis, which is innermost
layout(constant_id = 24) const int input_buffer = 0;
layout(constant_id = 25) const bool ignore_nan = false;

const bool floats = type >= TYPE_FLOAT16;
shared ivec4 partial[64];
shared ivec4 partial_places[64];

/// Values, and for ARGMAX where along the axis they are.
struct Found {
    ivec4 v, place;
};

ivec4 taken(ivec4 a, ivec4 b) {
    if (floats) {
        const vec4 x = intBitsToFloat(a), y = intBitsToFloat(b);
        if (kind == KIND_SUM) return floatBitsToInt(x + y);
        if (kind == KIND_PRODUCT) return floatBitsToInt(x * y);
        return floatBitsToInt(extreme(x, y, kind == KIND_MIN, ignore_nan));
    }
    if (kind == KIND_SUM) return a + b;
    return kind == KIND_MAX ? max(a, b) : min(a, b);
}

Found taken(Found a, Found b) {
    if (kind != KIND_ARGMAX) return Found(taken(a.v, b.v), a.place);
    Found best = a;
    [[unroll]] for (int i = 0; i < 4; ++i) {
        if (b.v[i] > a.v[i] || (b.v[i] == a.v[i] && b.place[i] < a.place[i])) {
            best.v[i] = b.v[i];
            best.place[i] = b.place[i];
        }
    }
    return best;
}

/// Of floats for ARGMAX, integers in the same order; a NaN is before or behind all.
ivec4 ordered(ivec4 v) {
    if (kind != KIND_ARGMAX || !floats) return v;
    ivec4 key;
    [[unroll]] for (int i = 0; i < 4; ++i) {
        key[i] = v[i] < 0 ? v[i] ^ 0x7fffffff : v[i];
        if ((v[i] & 0x7fffffff) == 0) key[i] = 0;
        if ((v[i] & 0x7fffffff) > 0x7f800000) key[i] = ignore_nan ? 0x80000000 : 0x7fffffff;
    }
    return key;
}

int nothing() {
    if (kind == KIND_SUM) return 0;
    if (kind == KIND_PRODUCT) return floatBitsToInt(1.0);
    if (kind == KIND_ARGMAX || !floats) return kind == KIND_MIN ? 0x7fffffff : 0x80000000;
    if (ignore_nan) return 0x7fc00000;  // which is the result of NaNs alone
    return kind == KIND_MIN ? 0x7f800000 : 0xff800000;
}

Found one(Found a, int i) { return Found(ivec4(a.v[i]), ivec4(a.place[i])); }

void main() {
    prepare();
    const int local = int(gl_LocalInvocationID.x), lane = local % split;
    const int f = 4 * (group_number() * (64 / split) + local / split);
    const int n = p[3], inner = p[4];
    Found found = Found(ivec4(nothing()), ivec4(0x7fffffff));
    if (vectors == 1 && f < p[1]) {
        const int at = p[2] + f / inner * n * inner + f % inner;
        for (int k = lane; k < n; k += split) {
            found = taken(found, Found(ordered(elements(input_buffer, type, at + k * inner)), ivec4(k)));
        }
    } else {
        [[unroll]] for (int i = 0; i < 4; ++i) {
            if (f + i >= p[1]) break;
            const int at = p[2] + (f + i) / inner * n * inner + (f + i) % inner;
            Found row = Found(ivec4(nothing()), ivec4(0x7fffffff));
            if (vectors == 2) {
                for (int k = 4 * lane; k < n; k += 4 * split) {
                    row = taken(row, Found(ordered(elements(input_buffer, type, at + k)), k + ivec4(0, 1, 2, 3)));
                }
                row = taken(taken(one(row, 0), one(row, 1)), taken(one(row, 2), one(row, 3)));
            } else {
                for (int k = lane; k < n; k += split) {
                    row = taken(row, Found(ordered(ivec4(element(input_buffer, type, at + k * inner))), ivec4(k)));
                }
            }
            found.v[i] = row.v.x;
            found.place[i] = row.place.x;
        }
    }
    if (split > 1) {
        partial[local] = found.v;
        partial_places[local] = found.place;
        barrier();
        for (int rest = split / 2; rest > 0; rest /= 2) {
            if (lane < rest) {
                const Found both = taken(Found(partial[local], partial_places[local]),
                                         Found(partial[local + rest], partial_places[local + rest]));
                partial[local] = both.v;
                partial_places[local] = both.place;
            }
            barrier();
        }
        found = Found(partial[local], partial_places[local]);
    }
    if (lane > 0 || f >= p[1]) return;
    r[0] = kind == KIND_ARGMAX ? found.place : found.v;
    run(f);
}
