#include "vgf/memory_plan.hpp"

#include <gtest/gtest.h>

#include <random>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

Block block(uint64_t size, uint64_t alignment, uint32_t first, uint32_t last) {
    return {size, alignment, first, last};
}

TEST(MemoryPlan, BlocksOfOtherStepsShareMemory) {
    struct Row {
        const char* name;
        std::vector<Block> blocks;
        std::vector<uint64_t> offsets;
        uint64_t size;
    };
    const Row rows[] = {
        {"none", {}, {}, 0},
        {"steps apart", {block(10, 1, 0, 1), block(30, 1, 2, 3)}, {0, 0}, 30},
        {"steps that touch", {block(10, 1, 0, 1), block(30, 1, 1, 3)}, {30, 0}, 40},
        {"aligned", {block(10, 64, 0, 1), block(30, 64, 1, 3)}, {64, 0}, 74},
        {"equal ones in their order", {block(8, 1, 0, 0), block(8, 1, 0, 0)}, {0, 8}, 16},
        {"a gap", {block(40, 1, 0, 0), block(30, 1, 0, 2), block(20, 1, 1, 1)}, {0, 40, 0}, 70},
        {"a gap that is too narrow after alignment",
         {block(40, 1, 0, 0), block(30, 1, 0, 2), block(20, 1, 2, 2), block(15, 32, 2, 2)},
         {0, 40, 0, 96},
         111},
        {"one that is placed", {block(10, 1, 1, 1), {8, 1, 0, 1, 4, true}}, {12, 4}, 22},
        {"one that is placed, before", {block(10, 1, 1, 1), {8, 1, 0, 0, 4, true}}, {0, 4}, 12},
        {"empty", {block(0, 16, 0, 5), block(7, 16, 0, 5)}, {0, 0}, 7},
    };
    for (const Row& row : rows) {
        std::vector<Block> blocks = row.blocks;
        EXPECT_EQ(plan(blocks), row.size) << row.name;
        for (size_t i = 0; i < blocks.size(); ++i)
            EXPECT_EQ(blocks[i].offset, row.offsets[i]) << row.name << ", block " << i;
    }
}

TEST(MemoryPlan, NothingThatIsNeededAtOnceOverlaps) {
    std::mt19937 random(3);
    const auto pick = [&random](uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(0, most)(random);
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<Block> blocks;
        for (uint32_t i = 0; i < 20; ++i) {
            const uint32_t first = pick(20);
            blocks.push_back(block(pick(1000), uint64_t{1} << pick(8), first, first + pick(5)));
        }
        const uint64_t size = plan(blocks);
        for (size_t i = 0; i < blocks.size(); ++i) {
            const Block& a = blocks[i];
            ASSERT_EQ(a.offset % a.alignment, 0);
            ASSERT_LE(a.offset + a.size, size);
            for (size_t j = 0; j < i; ++j) {
                const Block& b = blocks[j];
                const bool at_once = a.first <= b.last && b.first <= a.last;
                const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
                ASSERT_TRUE(!at_once || apart) << "blocks " << i << " and " << j;
            }
        }
    }
}

TEST(MemoryPlan, ThrowsWhereSizesOverflow) {
    for (const uint64_t second : {uint64_t{1}, uint64_t{1} << 63}) {
        std::vector<Block> blocks = {block(UINT64_MAX - 8, 1, 0, 0), block(second, 64, 0, 0)};
        EXPECT_THROW(plan(blocks), Error);
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
