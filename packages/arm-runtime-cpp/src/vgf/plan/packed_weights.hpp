// Weights in the order in which the kernels of matrix products read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../graph/graph.hpp"

namespace arm_runtime::vgf {

/// What [filters, K] is divided into and padded to.
struct Pieces {
    size_t bytes;    ///< of a piece of K
    size_t count;    ///< pieces of a filter
    size_t filters;  ///< as many or more
};

/// [filters, K] as [piece, filter, bytes of a piece], zeros where there is nothing.
std::vector<uint8_t> packed_weights(const Tensor& weights, const Pieces& pieces);

}  // namespace arm_runtime::vgf
