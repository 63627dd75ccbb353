#include "vgf/plan/copy_shape.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

using Ints = std::vector<int64_t>;

/// The source's elements in the order of the result, -1 for padding: as kernels/copy.comp finds
/// them.
Ints copied(const CopyShape& shape) {
    const std::vector<int32_t> block = shape.block();
    const size_t step = shape.padded() ? 8 : 4;
    int64_t count = 1;
    for (const CopyDim& dim : shape.dims()) count *= dim.size;
    Ints out;
    for (int64_t e = 0; e < count; ++e) {
        auto rest = static_cast<uint32_t>(e);
        int64_t at = shape.offset();
        bool inside = true;
        for (size_t d = 0; d < block.size(); d += step) {
            const uint64_t product = uint64_t{rest} * static_cast<uint32_t>(block[d + 1]);
            const uint32_t q = (static_cast<uint32_t>(product >> 32) + rest) >> block[d + 2];
            const auto c = static_cast<int32_t>(rest - q * static_cast<uint32_t>(block[d]));
            rest = q;
            at += int64_t{c} * block[d + 3];
            if (step == 8) inside = inside && c >= block[d + 4] && c < block[d + 5];
        }
        out.push_back(inside ? at : -1);
    }
    return out;
}

struct Row {
    const char* name;
    CopyShape shape;
    Ints expected;
    size_t dims;      ///< loops that are left
    int64_t divides;  ///< the largest count of elements that can be one
};

class CopyShapeTest : public testing::TestWithParam<Row> {};

TEST_P(CopyShapeTest, ElementsComeFromTheirPlaces) {
    const Row& row = GetParam();
    EXPECT_EQ(copied(row.shape), row.expected);
    EXPECT_EQ(row.shape.dims().size(), row.dims);
    EXPECT_TRUE(row.shape.divisible(row.divides));
    EXPECT_FALSE(row.shape.divisible(2 * row.divides));
}

TEST_P(CopyShapeTest, ElementsThatAreOneComeFromTheSamePlaces) {
    const Row& row = GetParam();
    CopyShape shape = row.shape;
    shape.divide(row.divides);
    Ints found;
    for (const int64_t at : copied(shape)) {
        for (int64_t i = 0; i < row.divides; ++i) {
            found.push_back(at < 0 ? -1 : at * row.divides + i);
        }
    }
    EXPECT_EQ(found, row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Operators, CopyShapeTest,
    testing::Values(
        Row{"whole", contiguous(6), {0, 1, 2, 3, 4, 5}, 1, 2},
        Row{"rows_and_columns", transposed({2, 3}, {1, 0}), {0, 3, 1, 4, 2, 5}, 2, 1},
        Row{"axes_of_one", transposed({1, 2, 1, 3}, {2, 1, 0, 3}), {0, 1, 2, 3, 4, 5}, 1, 2},
        Row{"outer_axes", transposed({2, 2, 2}, {1, 0, 2}), {0, 1, 4, 5, 2, 3, 6, 7}, 3, 2},
        Row{"backwards", reversed({2, 3}, 1), {2, 1, 0, 5, 4, 3}, 2, 1},
        Row{"rows_backwards", reversed({3, 2}, 0), {4, 5, 2, 3, 0, 1}, 2, 2},
        Row{"part", sliced({3, 4}, {1, 2}, {2, 2}), {6, 7, 10, 11}, 2, 2},
        Row{"whole_rows", sliced({3, 4}, {1, 0}, {2, 4}), {4, 5, 6, 7, 8, 9, 10, 11}, 1, 4},
        Row{"odd_place", sliced({8}, {1}, {4}), {1, 2, 3, 4}, 1, 1},
        Row{"repeated", tiled({1, 2}, {2, 2}), {0, 1, 0, 1, 0, 1, 0, 1}, 2, 2},
        Row{"repeated_rows", tiled({2, 2}, {2, 1}), {0, 1, 2, 3, 0, 1, 2, 3}, 2, 4},
        Row{"padded_columns", padded({2, 2}, {0, 0, 1, 0}), {-1, 0, 1, -1, 2, 3}, 2, 1},
        Row{"padded_rows", padded({1, 2}, {1, 1, 0, 0}), {-1, -1, 0, 1, -1, -1}, 1, 2}),
    [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

// Sizes at which a rounded multiplier would first be wrong: near the largest number of elements.
TEST(CopyShapeTest, DivisionIsExact) {
    for (const int64_t size : {1, 2, 3, 5, 7, 641, 65535, 65537, 1000003, 2147483647}) {
        CopyShape shape;
        shape.add({size, 2, 0, size});
        if (size == 1) continue;
        const std::vector<int32_t> block = shape.block();
        for (const uint32_t n : {1U, 2147483647U, 2147483646U, 1431655765U}) {
            for (const int64_t near : {-1, 0, 1}) {
                const int64_t value = n / size * size + near;
                if (value < 0 || value > 2147483647) continue;
                const uint64_t high =
                    static_cast<uint64_t>(value) * static_cast<uint32_t>(block[1]) >> 32;
                EXPECT_EQ((high + static_cast<uint64_t>(value)) >> block[2],
                          static_cast<uint64_t>(value / size))
                    << value << " / " << size;
            }
        }
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
