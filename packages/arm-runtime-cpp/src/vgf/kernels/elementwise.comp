#version 460
#extension GL_GOOGLE_include_directive : require
// A fused program alone: a thread runs it on four elements.
#include "memory.glsl"
#include "program.glsl"
layout(local_size_x = 64) in;

void main() {
    prepare();
    const int f = 4 * (group_number() * 64 + int(gl_LocalInvocationID.x));
    if (f < p[1]) run(f);
}
