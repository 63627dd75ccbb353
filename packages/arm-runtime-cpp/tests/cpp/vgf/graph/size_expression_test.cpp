// What is read off numbers at several sizes.
#include "vgf/graph/size_expression.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

using Points = std::vector<std::vector<int64_t>>;

struct Row {
    const char* name;
    Points points;
    std::vector<int64_t> numbers;
    std::string text;  ///< empty: there is none
};

class Fit : public testing::TestWithParam<Row> {};

TEST_P(Fit, FindsTheOnlyExpression) {
    const Row& row = GetParam();
    const auto found = fit(row.points, row.numbers);
    ASSERT_EQ(found.has_value(), !row.text.empty());
    if (!found) return;
    EXPECT_EQ(found->text({{"n", 1, 8}, {"m", 1, 8}}), row.text);
    for (size_t i = 0; i < row.points.size(); ++i) {
        EXPECT_EQ(found->at(row.points[i].data()), row.numbers[i]);
    }
}

const Points kOne{{8}, {7}, {3}};
const Points kTwo{{8, 16}, {7, 13}, {3, 5}, {8, 13}, {7, 16}};
constexpr int64_t kFar = int64_t{1} << 62;

INSTANTIATE_TEST_SUITE_P(
    Rows, Fit,
    testing::Values(
        Row{"fixed", kOne, {5, 5, 5}, "5"}, Row{"itself", kOne, {8, 7, 3}, "n"},
        Row{"a multiple", kOne, {32, 28, 12}, "4*n"}, Row{"more", kOne, {17, 15, 7}, "2*n+1"},
        Row{"less", kOne, {7, 6, 2}, "n-1"}, Row{"what is left", kOne, {4, 5, 9}, "-1*n+12"},
        Row{"half", kOne, {4, 3, 1}, ""}, Row{"square", kOne, {64, 49, 9}, ""},
        Row{"jump", kOne, {8, 7, 5}, ""}, Row{"product", kTwo, {256, 182, 30, 208, 224}, "2*n*m"},
        Row{"second", kTwo, {16, 13, 5, 13, 16}, "m"}, Row{"sum", kTwo, {24, 20, 8, 21, 23}, ""},
        Row{"two at once", {{8, 16}, {4, 8}}, {16, 8}, ""},
        Row{"no second point", {{8}, {8}}, {8, 7}, ""}),
    [](const testing::TestParamInfo<Row>& row) {
        std::string name = row.param.name;
        for (char& c : name) c = c == ' ' ? '_' : c;
        return name;
    });

TEST(SizeExpression, IsRefusedBeyond64Bits) {
    const SizeExpression product{4, 3, 0};
    const std::vector<int64_t> values{kFar, kFar};
    EXPECT_THROW(product.at(values.data()), Error);
}

}  // namespace
}  // namespace arm_runtime::vgf
