// Operators that begin a dispatch: for each, which kernel runs it, and with which numbers.
#pragma once

#include "planner.hpp"

namespace arm_runtime::vgf {

/// Begins a group for the planner's operator. Throws Error if no kernel runs it.
void plan_anchor(Planner& planner);

void plan_convolution(Planner& planner);
/// The faster kernels, where shapes and types fit them; false: they do not.
bool plan_gemm(Planner& planner);
/// Whether `reader`, for its operand `tensor`, reads what a TRANSPOSE of it transposes.
bool reads_transposed(const Graph& graph, const Operator& reader, uint32_t tensor);
/// The same of a CONCAT of two pictures' channels: the kernels read each where it lies.
bool reads_concatenated(const Graph& graph, const Operator& reader, const Operator& concat);
/// An NHWC operand with zeros as further channels, in a tensor of its own; reads through a deferred
/// TRANSPOSE.
uint32_t plan_padded_channels(Planner& planner, size_t operand, int64_t channels);
bool plan_depthwise(Planner& planner);
bool plan_matmul_gemm(Planner& planner);
void plan_matmul(Planner& planner);
void plan_pool(Planner& planner);
void plan_reduce(Planner& planner);  // ARGMAX as well
void plan_concat(Planner& planner);
void plan_copy(Planner& planner);  // TRANSPOSE, PAD, SLICE, TILE, REVERSE
/// Makes the result a copy of an operand of its size, for a kernel that changes some of it.
void plan_copied_operand(Planner& planner, size_t operand);
void plan_gather(Planner& planner);
void plan_scatter(Planner& planner);
void plan_resize(Planner& planner);
void plan_fft(Planner& planner);

}  // namespace arm_runtime::vgf
