#include "ethosu/model/hazards.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::ethosu {
namespace {

constexpr auto kKernel = Hazards::Kind::kKernel, kDma = Hazards::Kind::kDma;
constexpr uint32_t kNone = UINT32_MAX;

Range reads(int64_t first, int64_t end, uint32_t region = 1) { return {region, false, first, end}; }
Range writes(int64_t first, int64_t end, uint32_t region = 1) { return {region, true, first, end}; }

/// Two kernels and two transfers may be in flight.
class HazardsTest : public testing::Test {
  protected:
    HazardsTest() { hazards.set_capacity(2, 2); }

    /// The command of the operation that is in the way, or kNone.
    uint32_t in_the_way(const Range& range) {
        return hazards.conflicts(range, kind, command) ? command : kNone;
    }

    Hazards hazards;
    Hazards::Kind kind = kKernel;
    uint32_t command = kNone;
};

TEST_F(HazardsTest, ATransferWaitsForTheKernelWhoseBytesItNeeds) {
    struct Row {
        const char* name;
        Range kernel, transfer;
        bool conflict;
    };
    const Row rows[] = {
        {"read after write", writes(100, 200), reads(150, 160), true},
        {"write after read", reads(100, 200), writes(199, 300), true},
        {"write after write", writes(100, 200), writes(0, 101), true},
        {"two readers", reads(100, 200), reads(100, 200), false},
        {"beside each other", writes(100, 200), reads(200, 300), false},
        {"in another region", writes(100, 200), reads(100, 200, 2), false},
    };
    for (const Row& row : rows) {
        hazards = {};
        hazards.set_capacity(2, 2);
        hazards.begin(kKernel, false, 7);
        EXPECT_EQ(in_the_way(row.kernel), kNone) << row.name;
        hazards.begin(kDma, false, 8);
        EXPECT_EQ(in_the_way(row.transfer), row.conflict ? 7 : kNone) << row.name;
    }
}

TEST_F(HazardsTest, KernelsAreInOrderAndTransfersAreNot) {
    hazards.begin(kKernel, false, 1);
    EXPECT_EQ(in_the_way(writes(0, 100)), kNone);
    hazards.begin(kKernel, false, 2);
    EXPECT_EQ(in_the_way(reads(0, 100)), kNone);
    hazards.begin(kDma, false, 3);
    EXPECT_EQ(in_the_way(writes(500, 600)), kNone);
    hazards.begin(kDma, false, 4);
    EXPECT_EQ(in_the_way(reads(500, 600)), 3);
    EXPECT_EQ(kind, kDma);
}

TEST_F(HazardsTest, NothingIsInTheWayAfterAWait) {
    hazards.begin(kDma, false, 1);
    EXPECT_EQ(in_the_way(writes(0, 100)), kNone);
    hazards.begin(kDma, false, 2);
    EXPECT_EQ(in_the_way(writes(100, 200)), kNone);
    hazards.wait(kDma, 1);
    hazards.begin(kKernel, false, 3);
    EXPECT_EQ(in_the_way(reads(0, 100)), kNone) << "the older transfer has ended";
    EXPECT_EQ(in_the_way(reads(100, 200)), 2) << "the younger one may go on";
    hazards.wait(kDma, 0);
    EXPECT_EQ(in_the_way(reads(100, 200)), kNone);
}

TEST_F(HazardsTest, TheOldestEndsWhereThereIsNoRoomForMore) {
    for (uint32_t i = 0; i < 3; ++i) {
        hazards.begin(kDma, false, i);
        EXPECT_EQ(in_the_way(writes(100 * i, 100 * i + 100)), kNone);
    }
    hazards.begin(kKernel, false, 3);
    EXPECT_EQ(in_the_way(reads(0, 100)), kNone);
    EXPECT_EQ(in_the_way(reads(100, 200)), 1);
}

TEST_F(HazardsTest, FusedOperationsAreOneHoweverManyRangesTheyHave) {
    for (uint32_t i = 0; i < 30; ++i) {  // more than are kept one by one
        hazards.begin(kKernel, i > 0, i);
        EXPECT_EQ(in_the_way(writes(100 * i, 100 * i + 10)), kNone);
    }
    hazards.begin(kDma, false, 99);
    EXPECT_EQ(in_the_way(reads(2900, 2901)), 0) << "the last range counts, under the first command";
    EXPECT_EQ(in_the_way(reads(100, 101)), 0);
    EXPECT_EQ(in_the_way(reads(5000, 5001)), kNone);
}

}  // namespace
}  // namespace arm_runtime::ethosu
