#include "vgf/plan/packed_weights.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

TEST(PackedWeights, LieByPiecesOfKThenFilters) {
    Tensor weights;
    weights.shape = {2, 5};
    weights.data = {1, 2, 3, 4, 5, 11, 12, 13, 14, 15};
    const std::vector<uint8_t> exact{1, 11, 2, 12, 3, 13, 4, 14, 5, 15};
    EXPECT_EQ(packed_weights(weights, {1, 5, 2}), exact);
    // Pieces, and filters, that are not there are zeros; so is the end of a piece.
    const std::vector<uint8_t> padded{1, 2, 3, 11, 12, 13, 0, 0, 0, 4, 5, 0, 14, 15,
                                      0, 0, 0, 0,  0,  0,  0, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(packed_weights(weights, {3, 3, 3}), padded);
}

}  // namespace
}  // namespace arm_runtime::vgf
