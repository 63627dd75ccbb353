#include "runner/memory_order.hpp"

#include <gtest/gtest.h>

namespace arm_runtime {
namespace {

TEST(MemoryOrder, StridesAreThoseOfTheOrder) {
    const std::vector<int32_t> shape = {2, 3, 4, 5};
    EXPECT_EQ(strides_of(shape, {0, 1, 2, 3}), (std::vector<int32_t>{60, 20, 5, 1}));
    EXPECT_EQ(strides_of(shape, {0, 2, 3, 1}), (std::vector<int32_t>{60, 1, 15, 3}));
    EXPECT_TRUE(strides_of({}, {}).empty());
}

TEST(MemoryOrder, ChannelsGoLastAndComeBack) {
    const std::vector<int32_t> shape = {1, 2, 1, 3};
    const auto rows = strides_of(shape, {0, 1, 2, 3}), last = strides_of(shape, {0, 2, 3, 1});
    const std::vector<uint8_t> given = {1, 2, 3, 11, 12, 13};
    std::vector<uint8_t> pixels(6), back(6);
    copy_elements(shape, 1, given.data(), rows, pixels.data(), last);
    EXPECT_EQ(pixels, (std::vector<uint8_t>{1, 11, 2, 12, 3, 13}));
    copy_elements(shape, 1, pixels.data(), last, back.data(), rows);
    EXPECT_EQ(back, given);
}

TEST(MemoryOrder, ElementsOfSeveralBytesAndNone) {
    const std::vector<uint8_t> given = {1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<uint8_t> turned(8);
    copy_elements({2, 2}, 2, given.data(), {2, 1}, turned.data(), {1, 2});
    EXPECT_EQ(turned, (std::vector<uint8_t>{1, 2, 5, 6, 3, 4, 7, 8}));
    copy_elements({2, 0}, 2, given.data(), {0, 1}, turned.data(), {0, 1});
    EXPECT_EQ(turned, (std::vector<uint8_t>{1, 2, 5, 6, 3, 4, 7, 8}));
}

}  // namespace
}  // namespace arm_runtime
