#include "vgf/plan/operand_access.hpp"

#include <gtest/gtest.h>

#include "vgf/kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

using Shape = std::vector<int64_t>;

struct Case {
    Shape operand;
    Shape result;
    uint32_t kind;
    int32_t channels = 0;
    std::vector<int32_t> block;
};

class OperandAccess : public testing::TestWithParam<Case> {};

TEST_P(OperandAccess, IsTheSimplestThatReadsIt) {
    const Case& c = GetParam();
    const Access access = access_of(c.operand, c.result);
    EXPECT_EQ(access.kind, c.kind);
    EXPECT_EQ(access.channels, c.channels);
    EXPECT_EQ(access.block, c.block);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, OperandAccess,
    testing::Values(Case{{2, 3, 4}, {2, 3, 4}, ACCESS_FLAT, 0, {}},
                    Case{{1, 1, 1}, {2, 3, 4}, ACCESS_SCALAR, 0, {}},
                    Case{{1, 1, 1}, {1, 1, 1}, ACCESS_SCALAR, 0, {}},
                    Case{{1, 1, 4}, {2, 3, 4}, ACCESS_CHANNEL, 4, {}},
                    Case{{1, 3, 4}, {2, 3, 4}, ACCESS_CHANNEL, 12, {}},
                    Case{{2, 1, 1}, {2, 3, 4}, ACCESS_STRIDED, 0, {2, 12, 0, 2, 1}},
                    Case{{1, 3, 1}, {2, 3, 4}, ACCESS_STRIDED, 0, {3, 4, 0, 3, 1, 2, 0}},
                    Case{{2, 1, 4}, {2, 3, 4}, ACCESS_STRIDED, 0, {3, 4, 1, 3, 0, 2, 4}}));

}  // namespace
}  // namespace arm_runtime::vgf
