#version 460
// An output to an image: a thread makes a texel. The format is replaced by the image's when a pipeline is made.
#extension GL_GOOGLE_include_directive : require
#include "port.glsl"
layout(set = 0, binding = 1, rgba32f) writeonly uniform image2D image;

float value_of(int e) {
    const uint word = words[p.first + (e >> per_word())];
    if (p.type == TYPE_FLOAT32) return uintBitsToFloat(word);
    if (p.type == TYPE_FLOAT16) return unpackHalf2x16(word >> 16 * (e & 1)).x;
    if (p.type == TYPE_BFLOAT16) return uintBitsToFloat((e & 1) == 1 ? word & 0xffff0000u : word << 16);
    // A negative scale: the numbers have signs.
    const uint number = word >> 8 * (e & 3) & 0xffu;
    return p.scale < 0 ? float(bitfieldExtract(int(number), 0, 8)) / -p.scale : float(number) / p.scale;
}

void main() {
    const int pixels = p.width * p.height, pixel = thread_number();
    if (pixel >= pixels) return;
    vec4 texel = vec4(0, 0, 0, 1);
    for (int c = 0; c < p.channels; ++c) {
        texel[c] = value_of(p.planar == 1 ? c * pixels + pixel : pixel * p.channels + c);
    }
    imageStore(image, ivec2(pixel % p.width, pixel / p.width), texel);
}
