#version 460
// An input from an image: a thread makes a word of the tensor.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "port.glsl"
layout(set = 0, binding = 1) uniform texture2D image;

uint bits_of(float value) {
    if (p.type == TYPE_FLOAT32) return floatBitsToUint(value);
    if (p.type == TYPE_FLOAT16) return half_of(value);
    if (p.type == TYPE_BFLOAT16) return bfloat_of(value);
    return uint(int(roundEven(value * p.scale))) & (p.type == TYPE_INT8 ? 0xffu : 0xffffu);
}

void main() {
    const int pixels = p.width * p.height, count = pixels * p.channels, bits = 32 >> per_word();
    const int begin = thread_number() << per_word();
    if (begin >= count) return;
    uint value = 0;
    for (int i = 0; i < 1 << per_word() && begin + i < count; ++i) {
        const int e = begin + i;
        const int pixel = p.planar == 1 ? e % pixels : e / p.channels;
        const int channel = p.planar == 1 ? e / pixels : e % p.channels;
        const float texel = texelFetch(image, ivec2(pixel % p.width, pixel / p.width), 0)[channel];
        value |= bits_of(texel) << bits * i;
    }
    words[p.first + thread_number()] = value;
}
