// Names of objects and commands, for debuggers and captures of frames: where an application's
// instance has VK_EXT_debug_utils. Elsewhere nothing happens.
#pragma once

#include <string>

#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

class DebugNames {
  public:
    DebugNames() = default;
    DebugNames(const vk::raii::Instance& instance, const vk::raii::Device& device)
        : device_(*device),
          set_name_(
              find<PFN_vkSetDebugUtilsObjectNameEXT>(instance, "vkSetDebugUtilsObjectNameEXT")),
          begin_(find<PFN_vkCmdBeginDebugUtilsLabelEXT>(instance, "vkCmdBeginDebugUtilsLabelEXT")),
          end_(find<PFN_vkCmdEndDebugUtilsLabelEXT>(instance, "vkCmdEndDebugUtilsLabelEXT")) {}

    void name(vk::Buffer buffer, const std::string& text) const {
        if (set_name_ == nullptr) return;
        VkDebugUtilsObjectNameInfoEXT info{};
        info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
        info.objectType = VK_OBJECT_TYPE_BUFFER;
        info.objectHandle = reinterpret_cast<uint64_t>(static_cast<VkBuffer>(buffer));
        info.pObjectName = text.c_str();
        set_name_(device_, &info);
    }

    /// What is recorded until `end` is called `text`.
    void begin(vk::CommandBuffer commands, const char* text) const {
        if (begin_ == nullptr) return;
        VkDebugUtilsLabelEXT label{};
        label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
        label.pLabelName = text;
        begin_(commands, &label);
    }
    void end(vk::CommandBuffer commands) const {
        if (end_ != nullptr) end_(commands);
    }

  private:
    template <typename Function>
    static Function find(const vk::raii::Instance& instance, const char* name) {
        return reinterpret_cast<Function>(instance.getProcAddr(name));
    }

    VkDevice device_ = VK_NULL_HANDLE;
    PFN_vkSetDebugUtilsObjectNameEXT set_name_ = nullptr;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_ = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end_ = nullptr;
};

}  // namespace arm_runtime::vgf
