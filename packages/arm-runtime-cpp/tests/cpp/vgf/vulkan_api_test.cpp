#include "vgf/vulkan_api.hpp"

#include <gtest/gtest.h>

namespace arm_runtime::vgf {
namespace {

/// As vulkan_raii.hpp names methods; constructors have the names of C.
#define METHOD(name) VULKAN_HPP_NAMESPACE_STRING "::" name

TEST(VulkanApi, ErrorsHaveTheNamesOfC) {
    const struct {
        const char* thrown;
        vk::Result result;
        const char* text;
    } rows[] = {
        {"vkCreateFence", vk::Result::eErrorOutOfHostMemory,
         "vkCreateFence: out of host memory (VkResult -1)"},
        {METHOD("Queue::submit"), vk::Result::eErrorDeviceLost,
         "vkQueueSubmit: the device was lost (VkResult -4)"},
        {METHOD("Device::waitForFences"), vk::Result::eErrorOutOfDeviceMemory,
         "vkWaitForFences: out of device memory (VkResult -2)"},
        {METHOD("CommandBuffer::end"), vk::Result::eErrorUnknown,
         "vkEndCommandBuffer: failed (VkResult -13)"},
    };
    for (const auto& row : rows) {
        try {
            with_errors([&] { throw vk::SystemError(make_error_code(row.result), row.thrown); });
            ADD_FAILURE() << row.thrown;
        } catch (const Error& error) {
            EXPECT_STREQ(error.what(), row.text);
        }
    }
}

TEST(VulkanApi, WhatWorkReturnsIsReturned) {
    EXPECT_EQ(with_errors([] { return 3; }), 3);
}

}  // namespace
}  // namespace arm_runtime::vgf
