// What kernels on matrix units (VK_KHR_cooperative_matrix) share. The bytes of a matrix of A or B are SIDE rows (columns of B)
// of `k_bytes` along K: a step.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "memory.glsl"
#include "program.glsl"

layout(constant_id = 23) const int vector = 4;     // words of A that lie together, a unit: 1, 2 or 4
layout(constant_id = 24) const int a_buffer = 0;
layout(constant_id = 27) const int subgroup = 32;  // threads
layout(constant_id = 29) const int k_bytes = 32;   // 16 or 32
layout(constant_id = 30) const int parts_of_a = 1;     // 2: the channels behind the first p[25] units lie elsewhere
layout(constant_id = 31) const int second_buffer = 0;  // of the second part

#define SIDE MATRIX_SIDE
const int k_elements = k_bytes / ELEMENT_BYTES;
const int step_pieces = k_bytes / 16;  // pieces of 16 bytes
#define A_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, SIDE, k_elements, gl_MatrixUseA>
#define B_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, k_elements, SIDE, gl_MatrixUseB>
#define SUM_MATRIX coopmat<SUM, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseAccumulator>

uvec4 fetch(int buf, int at) {
    if (vector == 4) return words4(buf, at);
    if (vector == 2) return uvec4(words2(buf, at), 0u, 0u);
    return uvec4(word(buf, at), 0u, 0u, 0u);
}

/// Waits until all threads of the subgroup have read and written shared memory.
void meet() {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}
