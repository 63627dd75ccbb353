// Elements of float constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../graph/graph.hpp"

namespace arm_runtime::vgf {

/// An element of a constant of fp32, fp16 or bf16 as the bits of a single.
int32_t float_bits(const Tensor& tensor, size_t index);

}  // namespace arm_runtime::vgf
