// Vulkan as C++: Khronos' vulkan_raii.hpp, with the loader opened at run time.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

// A namespace of our own: an application that links the archives may bring other headers of Vulkan.
#define VULKAN_HPP_NAMESPACE arm_runtime_vulkan
namespace arm_runtime_vulkan {
namespace vk = arm_runtime_vulkan;  // headers of 1.4.359 say `vk` in one place all the same
}
#define VULKAN_HPP_ENABLE_DYNAMIC_LOADER_TOOL 0
#define VULKAN_HPP_NO_SMART_HANDLE
#define VULKAN_HPP_NO_TO_STRING
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_raii.hpp>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {

namespace vk = arm_runtime_vulkan;

/// The loader library, which stays open for the life of the process.
///
/// Throws Error, with what to install, if there is none on this machine.
const vk::raii::Context& vulkan();

/// Lets an application keep its instance or device: destroying the object destroys nothing of it.
void keep(const vk::raii::Instance& instance);
void keep(const vk::raii::Device& device);

/// An application's command buffer, as the object that it would be if it were ours.
class Borrowed {
  public:
    Borrowed(const vk::raii::Device& device, VkCommandBuffer commands)
        : commands_(device, commands, VK_NULL_HANDLE) {}
    ~Borrowed() {}  // NOLINT(modernize-use-equals-default): not the member's, which frees it
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    const vk::raii::CommandBuffer& operator*() const { return commands_; }

  private:
    union {
        vk::raii::CommandBuffer commands_;
    };
};

/// "vkQueueSubmit: the device was lost (VkResult -4)": a call's name in C, and Vulkan's word.
std::string text_of(const vk::SystemError& error);

/// What `work` returns; what Vulkan throws there becomes an Error.
template <typename Work>
decltype(auto) with_errors(Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const vk::SystemError& error) {
        throw Error(text_of(error), error.code().value());
    }
}

}  // namespace arm_runtime::vgf
