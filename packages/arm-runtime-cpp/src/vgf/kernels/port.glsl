// What the shaders between images and tensors share.
#extension GL_GOOGLE_include_directive : require
#include "halves.glsl"
#include "steps.h"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Tensor { uint words[]; };
layout(push_constant) uniform Push {
    int width, height, channels;
    int first;    // word of the tensor
    int type;     // TYPE_...
    int planar;   // 1: the channels come first
    float scale;  // of an integer tensor: the number that a texel of 1 has; 0: of a tensor of floats
} p;

int thread_number() {
    return int((gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * 64 + gl_LocalInvocationID.x);
}

/// Elements in a word, as a power of two.
int per_word() { return p.type == TYPE_INT8 ? 2 : p.type == TYPE_FLOAT32 ? 0 : 1; }
