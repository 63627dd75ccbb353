#version 460
// A tensor between a buffer of an application and the program's own: words, of whose last one a part may be kept; a thread
// copies PORT_WORDS of them.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "steps.h"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer To { uint to[]; };
layout(set = 0, binding = 1) readonly buffer From { uint from[]; };
layout(push_constant) uniform Push { uint words, first, source; uint mask; } p;

void main() {
    const uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
    const uint begin = group * 64 * PORT_WORDS + gl_LocalInvocationID.x;
    uint values[PORT_WORDS];
    // All are read before one is written: no read waits for another.
    [[unroll]] for (uint i = 0; i < PORT_WORDS; ++i) {
        values[i] = from[p.source + min(begin + i * 64, p.words - 1)];
    }
    [[unroll]] for (uint i = 0; i < PORT_WORDS; ++i) {
        const uint t = begin + i * 64;
        if (t >= p.words) return;
        const bool part = t + 1 == p.words && p.mask != 0xffffffffu;
        to[p.first + t] = part ? values[i] & p.mask | to[p.first + t] & ~p.mask : values[i];
    }
}
