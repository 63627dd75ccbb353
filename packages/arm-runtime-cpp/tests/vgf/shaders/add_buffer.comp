#version 450
// out = in + 10, for buffers of 4 int32
// scenario_runner's glslc --input add_buffer.comp --output add_buffer.spv
layout(set = 0, binding = 0) readonly buffer In { int x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };
layout(local_size_x = 1) in;

void main() {
    const uint i = gl_GlobalInvocationID.x;
    y[i] = x[i] + 10;
}
