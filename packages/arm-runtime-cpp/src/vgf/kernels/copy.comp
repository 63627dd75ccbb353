#version 460
#extension GL_GOOGLE_include_directive : require
// TRANSPOSE, PAD, SLICE, TILE, REVERSE, and an operand of CONCAT. A thread makes one unit of the result: 16, 8 or 4 bytes
// that lie side by side in the source as well, or else a word from its elements of 1 or 2 bytes.
#include "memory.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int unit = 4;  // bytes
layout(constant_id = 21) const int rank = 1;
layout(constant_id = 22) const bool padded = false;
layout(constant_id = 23) const bool rows = false;  // the result's part is rows with a gap between them
layout(constant_id = 24) const int source_buffer = 0;
layout(constant_id = 25) const int result_buffer = 0;

/// n / d by a multiplication; see plan_copy.cpp.
uint divided(uint n, uint multiplier, uint shift) {
    uint high, low;
    umulExtended(n, multiplier, high, low);
    return (high + n) >> shift;
}

/// The source's unit for the unit `e` of the part; -1: padding.
int source_of(int e) {
    uint rest = uint(e);
    int at = p[10];
    bool inside = true;
    for (int d = 0; d < rank; ++d) {
        const uvec4 dim = constants4[p[9] + (padded ? 2 * d : d)];  // size, multiplier, shift, stride
        const uint q = divided(rest, dim.y, dim.z), c = rest - q * dim.x;
        rest = q;
        at += int(c) * int(dim.w);
        if (padded) {
            const uvec4 bounds = constants4[p[9] + 2 * d + 1];
            inside = inside && c >= bounds.x && c < bounds.y;
        }
    }
    return inside ? p[2] + at : -1;
}

void main() {
    const int t = group_number() * 64 + int(gl_LocalInvocationID.x);
    if (t >= p[4]) return;
    const int first = p[6], pitch = p[7], size = p[8];
    if (unit >= 4) {
        const int from = source_of(t), to = p[3] + first + (rows ? t / size * pitch + t % size : t);
        if (unit == 16) {
            put4(result_buffer, to, from < 0 ? uvec4(p[12], p[13], p[14], p[15]) : words4(source_buffer, from));
        } else if (unit == 8) {
            put2(result_buffer, to, from < 0 ? uvec2(p[12], p[13]) : words2(source_buffer, from));
        } else {
            put(result_buffer, to, from < 0 ? uint(p[12]) : word(source_buffer, from));
        }
        return;
    }
    // A thread's word is one of those that its row touches: no two rows touch the same one.
    const int per_word = 4 / unit, row = t / p[5], begin = first + row * pitch;
    const int w = begin / per_word + t % p[5];
    if (w * per_word >= begin + p[16]) return;
    uint value = 0, mask = 0;
    [[unroll]] for (int i = 0; i < 4 / unit; ++i) {
        int e = w * per_word + i - first;
        bool part = e >= 0 && e < p[11];
        if (rows) {
            part = part && e % pitch < size;
            e = e / pitch * size + e % pitch;
        }
        if (!part) continue;
        const int from = source_of(e);
        uint bits = uint(p[12]);
        if (from >= 0) bits = word(source_buffer, from / per_word) >> 8 * unit * (from % per_word);
        const uint of_element = (1u << 8 * unit) - 1;
        value |= (bits & of_element) << 8 * unit * i;
        mask |= of_element << 8 * unit * i;
    }
    if (mask == 0u) return;
    if (mask != 0xffffffffu) value |= word(result_buffer, p[3] + w) & ~mask;
    put(result_buffer, p[3] + w, value);
}
