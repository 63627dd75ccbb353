#include "ethosu/model/blocks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace arm_runtime::ethosu {
namespace {

/// A map without tiles, from a base on.
Placement whole(int64_t base, int64_t height, int64_t width, int64_t depth, bool bricks) {
    Placement map;
    for (int64_t& tile : map.base) tile = base;
    map.height0 = map.height1 = height;
    map.width0 = width;
    map.bricks = bricks;
    map.stride_c = bricks ? kBrick * width : 1;
    map.stride_x = bricks ? kBrick : depth;
    map.stride_y = bricks ? (depth + kBrick - 1) / kBrick * map.stride_c : width * depth;
    return map;
}

/// Each byte of a part, one element after the other, by the formula of the layout.
std::set<int64_t> bytes_of(const Placement& map, const Box& box) {
    std::set<int64_t> found;
    for (int64_t y = box.from[0]; y < box.to[0]; ++y) {
        for (int64_t x = box.from[1]; x < box.to[1]; ++x) {
            const bool right = x >= map.width0, below = y >= (right ? map.height1 : map.height0);
            const int64_t row = below ? y - (right ? map.height1 : map.height0) : y;
            const int64_t column = right ? x - map.width0 : x;
            const int64_t tile = map.base[(below ? 2 : 0) + (right ? 1 : 0)] + row * map.stride_y;
            for (int64_t c = box.from[2]; c < box.to[2]; ++c) {
                const int64_t at = map.bricks ? c / kBrick * map.stride_c +
                                                    (column * kBrick + c % kBrick) * map.element
                                              : column * map.stride_x + c * map.element;
                for (int64_t i = 0; i < map.element; ++i) found.insert(tile + at + i);
            }
        }
    }
    return found;
}

bool share_a_byte(const std::set<int64_t>& a, const std::set<int64_t>& b) {
    for (const int64_t byte : a)
        if (b.count(byte) != 0) return true;
    return false;
}

TEST(Overlap, OfPartsOfOneMap) {
    struct Row {
        const char* name;
        bool bricks;
        Box a, b;
        bool expected;
    };
    constexpr Row kRows[] = {
        {"the same element", false, {{1, 1, 1}, {2, 2, 2}}, {{1, 1, 1}, {2, 2, 2}}, true},
        {"rows beside each other", false, {{0, 0, 0}, {1, 8, 20}}, {{1, 0, 0}, {2, 8, 20}}, false},
        {"columns beside each other",
         false,
         {{0, 0, 0}, {4, 3, 20}},
         {{0, 3, 0}, {4, 8, 20}},
         false},
        {"a column of both", false, {{0, 0, 0}, {4, 4, 20}}, {{0, 3, 0}, {4, 8, 20}}, true},
        {"channels beside each other",
         false,
         {{0, 0, 0}, {4, 8, 5}},
         {{0, 0, 5}, {4, 8, 20}},
         false},
        {"bricks beside each other",
         true,
         {{0, 0, 0}, {4, 8, 16}},
         {{0, 0, 16}, {4, 8, 20}},
         false},
        {"channels of one brick", true, {{0, 0, 0}, {4, 8, 17}}, {{0, 0, 16}, {4, 8, 20}}, true},
        {"nothing", false, {{0, 0, 0}, {0, 8, 20}}, {{0, 0, 0}, {4, 8, 20}}, false},
    };
    for (const Row& row : kRows) {
        const Placement map = whole(64, 4, 8, 20, row.bricks);
        EXPECT_EQ(overlap(map, row.a, map, row.b), row.expected) << row.name;
        EXPECT_EQ(overlap(map, row.b, map, row.a), row.expected) << row.name << ", turned round";
    }
}

TEST(Overlap, NeverAcrossRegions) {
    const Placement map = whole(0, 4, 8, 20, false);
    Placement other = map;
    other.region = 1;
    const Box all = {{0, 0, 0}, {4, 8, 20}};
    EXPECT_TRUE(overlap(map, all, map, all));
    EXPECT_FALSE(overlap(map, all, other, all));
}

TEST(Overlap, OfTooManyRowsIsYes) {
    // Even rows of one map and odd rows of the other, which never meet; 600 of them are not
    // compared.
    Placement even = whole(0, 600, 4, 4, false), odd = even;
    even.stride_y = odd.stride_y = 32;
    for (int64_t& base : odd.base) base = 16;
    EXPECT_FALSE(overlap(even, {{0, 0, 0}, {512, 4, 4}}, odd, {{0, 0, 0}, {512, 4, 4}}));
    EXPECT_TRUE(overlap(even, {{0, 0, 0}, {513, 4, 4}}, odd, {{0, 0, 0}, {512, 4, 4}}));
}

TEST(Overlap, IsThatOfTheSetsOfBytes) {
    std::mt19937 random(7);
    const auto pick = [&random](int64_t low, int64_t high) {
        return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const auto any_map = [&] {
        Placement map;
        map.bricks = pick(0, 1) == 1;
        map.element = 1u << pick(0, 2);
        for (int64_t& base : map.base) base = pick(0, 1200);
        map.height0 = pick(1, 5);
        map.height1 = pick(1, 5);
        map.width0 = pick(1, 5);
        map.stride_x = pick(-40, 40);
        map.stride_y = pick(-300, 300);
        map.stride_c = pick(-300, 300);
        return map;
    };
    const auto any_box = [&] {
        Box box{};
        constexpr int64_t kMost[] = {5, 5, 24};
        for (int axis = 0; axis < 3; ++axis) {
            box.from[axis] = pick(0, kMost[axis] - 1);
            box.to[axis] = pick(box.from[axis] + 1, kMost[axis]);
        }
        return box;
    };
    int seen[2] = {};
    for (int i = 0; i < 3000; ++i) {
        const Placement a = any_map(), b = any_map();
        const Box in_a = any_box(), in_b = any_box();
        const bool expected = share_a_byte(bytes_of(a, in_a), bytes_of(b, in_b));
        ASSERT_EQ(overlap(a, in_a, b, in_b), expected) << "case " << i;
        ++seen[expected ? 1 : 0];
    }
    EXPECT_GT(seen[0], 300);
    EXPECT_GT(seen[1], 300);
}

TEST(Blocks, CoverAResultDepthFirst) {
    const Blocks blocks = {{5, 3, 20}, {2, 3, 16}};
    ASSERT_EQ(blocks.count(), 3 * 1 * 2);
    const Box second = blocks.at(1), last = blocks.at(5);
    EXPECT_EQ((std::vector<int64_t>{0, 0, 16}), std::vector<int64_t>(second.from, second.from + 3));
    EXPECT_EQ((std::vector<int64_t>{2, 3, 20}), std::vector<int64_t>(second.to, second.to + 3));
    EXPECT_EQ((std::vector<int64_t>{4, 0, 16}), std::vector<int64_t>(last.from, last.from + 3));
    EXPECT_EQ((std::vector<int64_t>{5, 3, 20}), std::vector<int64_t>(last.to, last.to + 3));
}

TEST(Tiles, OfARow) {
    Placement map;
    const int64_t bases[] = {0, 1000, 2000, 3000};
    for (int i = 0; i < 4; ++i) map.base[i] = bases[i];
    map.height0 = 2;
    map.height1 = 3;
    map.width0 = 4;
    map.stride_y = 10;
    struct Part {
        int64_t address, first, columns;
        bool operator==(const Part& o) const {
            return address == o.address && first == o.first && columns == o.columns;
        }
    };
    struct Row {
        int64_t y, width;
        std::vector<Part> expected;
    };
    const Row rows[] = {
        {1, 4, {{10, 0, 4}}},                  // the left tile is wide enough
        {1, 6, {{10, 0, 4}, {1010, 4, 2}}},    // tiles 0 and 1
        {2, 6, {{2000, 0, 4}, {1020, 4, 2}}},  // the left one ends before the right one
        {4, 6, {{2020, 0, 4}, {3010, 4, 2}}},  // tiles 2 and 3
    };
    for (const Row& row : rows) {
        std::vector<Part> parts;
        EXPECT_TRUE(
            for_tiles(map, row.y, row.width, [&](int64_t at, int64_t first, int64_t columns) {
                parts.push_back({at, first, columns});
                return true;
            }));
        EXPECT_TRUE(parts == row.expected) << "row " << row.y << ", width " << row.width;
    }
}

}  // namespace
}  // namespace arm_runtime::ethosu
