#version 460
// Whether a compiler knows the extensions of the kernels for matrix units. It stays as it is when those kernels change.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Words { uvec4 words[]; };
void main() {
    coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> bytes;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> halves;
    coopMatLoad(bytes, words, 0, 2, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(halves, words, 0, 2, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(bytes, words, 32, 2, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(halves, words, 64, 2, gl_CooperativeMatrixLayoutRowMajor);
}
