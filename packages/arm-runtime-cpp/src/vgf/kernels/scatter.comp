#version 460
#extension GL_GOOGLE_include_directive : require
// SCATTER, behind a copy of values_in: a unit of 16, 8 or 4 bytes, or an element, of the input goes to the row that its
// index says. An index out of range is passed over.
#include "memory.glsl"
layout(local_size_x = 64) in;

layout(constant_id = 20) const int unit = 4;  // bytes
layout(constant_id = 23) const int input_buffer = 0;
layout(constant_id = 24) const int indices_buffer = 0;
layout(constant_id = 25) const int result_buffer = 0;

/// Other threads write the word's other bytes: what an exclusive or flips is this element's alone.
void flip(int i, uint bits) {
    if (result_buffer == BUFFER_WORK) atomicXor(work[i], bits);
    if (result_buffer == BUFFER_OUTPUTS) atomicXor(outputs[i], bits);
}

void main() {
    const int t = group_number() * 64 + int(gl_LocalInvocationID.x);
    if (t >= p[5]) return;
    const int rows = p[6], size = p[7], picks = p[8];
    const int pick = t / size, row = element(indices_buffer, TYPE_INT32, p[3] + pick);
    if (row < 0 || row >= rows) return;
    const int from = p[2] + t, to = p[4] + (pick / picks * rows + row) * size + t % size;
    if (unit == 16) {
        put4(result_buffer, to, words4(input_buffer, from));
    } else if (unit == 8) {
        const uvec2 value = words2(input_buffer, from);
        put(result_buffer, 2 * to, value.x);
        put(result_buffer, 2 * to + 1, value.y);
    } else if (unit == 4) {
        put(result_buffer, to, word(input_buffer, from));
    } else {
        const int per_word = 4 / unit, bits = 8 * unit, shift = bits * (to % per_word);
        const uint value = word(input_buffer, from / per_word) >> bits * (from % per_word);
        const uint other = word(result_buffer, to / per_word) >> shift;
        flip(to / per_word, ((value ^ other) & ((1u << bits) - 1)) << shift);
    }
}
