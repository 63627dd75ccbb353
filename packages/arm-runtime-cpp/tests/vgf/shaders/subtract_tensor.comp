#version 460
#extension GL_ARM_tensors : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// out = constant - in, for int32 tensors of shape [4]
// scenario_runner's glslc --input subtract_tensor.comp --output subtract_tensor.spv
layout(set = 0, binding = 0) uniform tensorARM<int32_t, 1> tensorIn;
layout(set = 0, binding = 1) uniform tensorARM<int32_t, 1> tensorOut;
layout(set = 1, binding = 3) uniform tensorARM<int32_t, 1> constant;
layout(local_size_x = 1) in;

void main() {
    const uint i = gl_GlobalInvocationID.x;
    int32_t x;
    int32_t c;
    tensorReadARM(tensorIn, uint[](i), x);
    tensorReadARM(constant, uint[](i), c);
    tensorWriteARM(tensorOut, uint[](i), c - x);
}
