// The order in which a tensor's elements lie in memory, and arrays in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arm_runtime {

/// Elements between neighbours of each axis of a dense tensor whose axes lie in memory in this
/// order, outermost first (ExecuTorch's dim order: {0, 1, 2, 3} is row-major, {0, 2, 3, 1}
/// channels-last). `order` is a permutation of the axes.
std::vector<int32_t> strides_of(const std::vector<int32_t>& shape,
                                const std::vector<uint8_t>& order);

/// Copies every element of a tensor of this shape, of `size` bytes each, from one place to another;
/// each has strides of its own, in elements.
void copy_elements(const std::vector<int32_t>& shape, size_t size, const uint8_t* from,
                   const std::vector<int32_t>& from_strides, uint8_t* to,
                   const std::vector<int32_t>& to_strides);

}  // namespace arm_runtime
