// The buffers of a plan, and elements of every type in them. One buffer, seen as words and as vectors of words.
#extension GL_EXT_control_flow_attributes : require
#include "steps.h"

layout(set = 0, binding = 0) buffer Work { uint work[]; };
layout(set = 0, binding = 0) buffer Work2 { uvec2 work2[]; };
layout(set = 0, binding = 0) buffer Work4 { uvec4 work4[]; };
layout(set = 0, binding = 1) readonly buffer Constants { uint constants[]; };
layout(set = 0, binding = 1) readonly buffer Constants2 { uvec2 constants2[]; };
layout(set = 0, binding = 1) readonly buffer Constants4 { uvec4 constants4[]; };
layout(set = 0, binding = 2) readonly buffer Inputs { uint inputs[]; };
layout(set = 0, binding = 2) readonly buffer Inputs2 { uvec2 inputs2[]; };
layout(set = 0, binding = 2) readonly buffer Inputs4 { uvec4 inputs4[]; };
layout(set = 0, binding = 3) buffer Outputs { uint outputs[]; };
layout(set = 0, binding = 3) buffer Outputs2 { uvec2 outputs2[]; };
layout(set = 0, binding = 3) buffer Outputs4 { uvec4 outputs4[]; };
layout(push_constant) uniform Push { int p[32]; };

uint word(int buf, int i) {
    if (buf == BUFFER_WORK) return work[i];
    if (buf == BUFFER_CONSTANTS) return constants[i];
    if (buf == BUFFER_INPUTS) return inputs[i];
    return outputs[i];
}

uvec4 words4(int buf, int i) {
    if (buf == BUFFER_WORK) return work4[i];
    if (buf == BUFFER_CONSTANTS) return constants4[i];
    if (buf == BUFFER_INPUTS) return inputs4[i];
    return outputs4[i];
}

uvec2 words2(int buf, int i) {
    if (buf == BUFFER_WORK) return work2[i];
    if (buf == BUFFER_CONSTANTS) return constants2[i];
    if (buf == BUFFER_INPUTS) return inputs2[i];
    return outputs2[i];
}

void put(int buf, int i, uint value) {
    if (buf == BUFFER_WORK) work[i] = value;
    if (buf == BUFFER_OUTPUTS) outputs[i] = value;
}

void put2(int buf, int i, uvec2 value) {
    if (buf == BUFFER_WORK) work2[i] = value;
    if (buf == BUFFER_OUTPUTS) outputs2[i] = value;
}

void put4(int buf, int i, uvec4 value) {
    if (buf == BUFFER_WORK) work4[i] = value;
    if (buf == BUFFER_OUTPUTS) outputs4[i] = value;
}

/// The number of this workgroup: a dispatch of many spreads over two axes.
int group_number() { return int(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x); }

ivec4 bytes_of(uint w) {
    const int v = int(w);
    return ivec4(bitfieldExtract(v, 0, 8), bitfieldExtract(v, 8, 8), bitfieldExtract(v, 16, 8), v >> 24);
}

/// Adds numbers of 64 bits.
void add_wide(inout ivec4 low, inout ivec4 high, ivec4 other_low, ivec4 other_high) {
    uvec4 carry;
    low = ivec4(uaddCarry(uvec4(low), uvec4(other_low), carry));
    high += other_high + ivec4(carry);
}

uint bytes_to_word(ivec4 v) {
    return uint(v.x & 255) | uint(v.y & 255) << 8 | uint(v.z & 255) << 16 | uint(v.w) << 24;
}

#include "halves.glsl"

/// An element as a register's lane holds it: an integer, or the bits of a float. Of int48, the low word.
int element(int buf, int type, int i) {
    if (type == TYPE_INT8) return bitfieldExtract(int(word(buf, i >> 2)), 8 * (i & 3), 8);
    if (type == TYPE_INT16) return bitfieldExtract(int(word(buf, i >> 1)), 16 * (i & 1), 16);
    if (type == TYPE_FLOAT16) return floatBitsToInt(unpackHalf2x16(word(buf, i >> 1) >> 16 * (i & 1)).x);
    if (type == TYPE_BFLOAT16) return int((i & 1) == 1 ? word(buf, i >> 1) & 0xffff0000u : word(buf, i >> 1) << 16);
    if (type == TYPE_INT48) return int(word(buf, 2 * i));
    return int(word(buf, i));
}

/// Four elements, the first of which is the `i`th, a multiple of four.
ivec4 elements(int buf, int type, int i) {
    if (type == TYPE_INT8) return bytes_of(word(buf, i >> 2));
    if (type == TYPE_INT16 || type == TYPE_FLOAT16 || type == TYPE_BFLOAT16) {
        const uvec2 w = words2(buf, i >> 2);
        if (type == TYPE_FLOAT16) return floatBitsToInt(vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y)));
        if (type == TYPE_BFLOAT16) return ivec4(w.x << 16, w.x & 0xffff0000u, w.y << 16, w.y & 0xffff0000u);
        return ivec4(bitfieldExtract(int(w.x), 0, 16), int(w.x) >> 16, bitfieldExtract(int(w.y), 0, 16), int(w.y) >> 16);
    }
    if (type == TYPE_INT48) return ivec4(word(buf, 2 * i), word(buf, 2 * i + 2), word(buf, 2 * i + 4), word(buf, 2 * i + 6));
    return ivec4(words4(buf, i >> 2));
}

/// Stores four elements, the first of which is the `i`th, a multiple of four; `high` is used of int48 only.
void store(int buf, int type, int i, ivec4 v, ivec4 high) {
    if (type == TYPE_INT8) {
        put(buf, i >> 2, bytes_to_word(v));
    } else if (type == TYPE_INT16 || type == TYPE_FLOAT16 || type == TYPE_BFLOAT16) {
        uvec4 u = uvec4(v);
        const vec4 f = intBitsToFloat(v);
        if (type == TYPE_FLOAT16) u = uvec4(half_of(f.x), half_of(f.y), half_of(f.z), half_of(f.w));
        if (type == TYPE_BFLOAT16) u = uvec4(bfloat_of(f.x), bfloat_of(f.y), bfloat_of(f.z), bfloat_of(f.w));
        put2(buf, i >> 2, uvec2((u.x & 0xffffu) | u.y << 16, (u.z & 0xffffu) | u.w << 16));
    } else if (type == TYPE_INT48) {
        put4(buf, i >> 1, uvec4(v.x, high.x, v.y, high.y));
        put4(buf, (i >> 1) + 1, uvec4(v.z, high.z, v.w, high.w));
    } else {
        put4(buf, i >> 2, uvec4(v));
    }
}
