#include "vgf/formats.hpp"

#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <string>

#include "vgf/vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

TEST(Formats, HaveTypesWithNamesAndSizes) {
    struct Row {
        VkFormat format;
        const char* name;
        size_t size;
    };
    constexpr Row kRows[] = {
        {kFormatBool, "bool", 1},          {VK_FORMAT_R8_SINT, "int8", 1},
        {VK_FORMAT_R8_UINT, "uint8", 1},   {VK_FORMAT_R16_SINT, "int16", 2},
        {VK_FORMAT_R16_UINT, "uint16", 2}, {VK_FORMAT_R32_SINT, "int32", 4},
        {VK_FORMAT_R32_UINT, "uint32", 4}, {VK_FORMAT_R16_SFLOAT, "float16", 2},
        {kFormatBFloat16, "bfloat16", 2},  {VK_FORMAT_R32_SFLOAT, "float32", 4},
    };
    for (const Row& row : kRows) {
        const std::optional<DataType> type = type_of(row.format);
        ASSERT_TRUE(type.has_value()) << row.name;
        EXPECT_STREQ(name_of(*type), row.name);
        EXPECT_EQ(size_of(*type), row.size) << row.name;
    }
    EXPECT_STREQ(name_of(DataType::kInt64), "int64");
    EXPECT_EQ(size_of(DataType::kInt64), 8);
}

TEST(Formats, OfNoTypeOfOurs) {
    for (const int32_t format : {-1, 0, static_cast<int32_t>(VK_FORMAT_R8G8_SINT),
                                 static_cast<int32_t>(VK_FORMAT_R64_SINT),
                                 static_cast<int32_t>(kFormatFloat8E4M3), INT32_MAX})
        EXPECT_FALSE(type_of(format).has_value()) << format;
}

TEST(Formats, NarrowStopsAtTheFirstThatDoesNotFit) {
    const int64_t fits[] = {INT32_MIN, -1, 0, INT32_MAX};
    int32_t narrowed[4] = {};
    int64_t bad = 0;
    ASSERT_TRUE(narrow(fits, narrowed, 4, &bad));
    int64_t widened[4] = {};
    widen(narrowed, widened, 4);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(widened[i], fits[i]);
    for (const int64_t value :
         {int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1, int64_t{1} << 32, INT64_MIN}) {
        const int64_t values[] = {5, value, INT64_MAX};
        EXPECT_FALSE(narrow(values, narrowed, 3, &bad)) << value;
        EXPECT_EQ(bad, value);
    }
}

}  // namespace
}  // namespace arm_runtime::vgf
