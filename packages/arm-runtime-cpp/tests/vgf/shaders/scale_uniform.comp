#version 450
// out = in * factor, for buffers of 4 int32; the factor is a uniform buffer
// glslangValidator --target-env vulkan1.3 -o scale_uniform.spv scale_uniform.comp
layout(set = 0, binding = 0) readonly buffer In { int x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };
layout(set = 0, binding = 2) uniform Factor { int factor; };
layout(local_size_x = 1) in;

void main() {
    const uint i = gl_GlobalInvocationID.x;
    y[i] = x[i] * factor;
}
