#version 460
// A tensor between a buffer of an application and the program's own: words, of whose last one a part may be kept.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer To { uint to[]; };
layout(set = 0, binding = 1) readonly buffer From { uint from[]; };
layout(push_constant) uniform Push { uint words, first, source; uint mask; } p;

void main() {
    const uint t = (gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * 64 + gl_LocalInvocationID.x;
    if (t >= p.words) return;
    const uint value = from[p.source + t];
    const bool part = t + 1 == p.words && p.mask != 0xffffffffu;
    to[p.first + t] = part ? value & p.mask | to[p.first + t] & ~p.mask : value;
}
