// Vulkan's functions as an application's loader gives them to the library, for tests: of a device
// whose memory the host does not see, counted, or failing.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace stand_in {

inline PFN_vkGetInstanceProcAddr real = nullptr;
inline VkInstance instance = VK_NULL_HANDLE;
inline bool apart = false;  ///< what the host sees is not the device's own memory
inline std::atomic<int> submissions{0};
/// A second queue, which is the first under another name.
inline const VkQueue second = reinterpret_cast<VkQueue>(uintptr_t{0x5ec0});
inline VkQueue first = VK_NULL_HANDLE;
inline std::atomic<int> on_second{0};
inline const char* lost = "";  ///< a call that loses the device
inline std::atomic<int> destroyed{0};

inline bool is_lost(const char* name) { return std::strcmp(lost, name) == 0; }

template <typename Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(real(instance, name));
}

inline void VKAPI_CALL memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties* found) {
    find<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(physical,
                                                                                         found);
    for (uint32_t i = 0; apart && i < found->memoryTypeCount; ++i) {
        VkMemoryPropertyFlags& flags = found->memoryTypes[i].propertyFlags;
        if (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
            flags &= ~static_cast<VkMemoryPropertyFlags>(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
        }
    }
}

inline VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                  VkFence fence) {
    if (is_lost("vkQueueSubmit")) return VK_ERROR_DEVICE_LOST;
    ++submissions;
    if (queue == second) ++on_second;
    return find<PFN_vkQueueSubmit>("vkQueueSubmit")(queue == second ? first : queue, count, infos,
                                                    fence);
}

inline VkResult VKAPI_CALL wait(VkDevice device, uint32_t count, const VkFence* fences,
                                VkBool32 all, uint64_t timeout) {
    const VkResult result =
        find<PFN_vkWaitForFences>("vkWaitForFences")(device, count, fences, all, timeout);
    return is_lost("vkWaitForFences") ? VK_ERROR_DEVICE_LOST : result;
}

inline VkResult VKAPI_CALL pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* allocator, VkPipeline* made) {
    if (is_lost("vkCreateComputePipelines")) {
        *made = VK_NULL_HANDLE;
        return VK_ERROR_DEVICE_LOST;
    }
    return find<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(device, cache, count,
                                                                          infos, allocator, made);
}

inline std::mutex held_guard;
inline std::map<VkDeviceMemory, VkDeviceSize> held;  ///< device memory, with its bytes

inline VkDeviceSize bytes_held() {
    const std::lock_guard<std::mutex> lock(held_guard);
    VkDeviceSize sum = 0;
    for (const auto& one : held) sum += one.second;
    return sum;
}

inline VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkDeviceMemory* made) {
    const VkResult result =
        find<PFN_vkAllocateMemory>("vkAllocateMemory")(device, info, allocator, made);
    const std::lock_guard<std::mutex> lock(held_guard);
    if (result == VK_SUCCESS) held[*made] = info->allocationSize;
    return result;
}

inline void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                   const VkAllocationCallbacks* allocator) {
    ++destroyed;
    {
        const std::lock_guard<std::mutex> lock(held_guard);
        held.erase(memory);
    }
    find<PFN_vkFreeMemory>("vkFreeMemory")(device, memory, allocator);
}

inline void VKAPI_CALL destroy_cache(VkDevice device, VkPipelineCache cache,
                                     const VkAllocationCallbacks* allocator) {
    ++destroyed;
    find<PFN_vkDestroyPipelineCache>("vkDestroyPipelineCache")(device, cache, allocator);
}

inline std::string labels;  ///< that were begun
inline int open_labels = 0;
inline int named = 0;

inline void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
    labels += std::string(label->pLabelName) + ";";
    ++open_labels;
    find<PFN_vkCmdBeginDebugUtilsLabelEXT>("vkCmdBeginDebugUtilsLabelEXT")(commands, label);
}

inline void VKAPI_CALL end_label(VkCommandBuffer commands) {
    --open_labels;
    find<PFN_vkCmdEndDebugUtilsLabelEXT>("vkCmdEndDebugUtilsLabelEXT")(commands);
}

inline VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    ++named;
    return find<PFN_vkSetDebugUtilsObjectNameEXT>("vkSetDebugUtilsObjectNameEXT")(device, info);
}

inline bool no_commands = false;  ///< recording calls do nothing: what is left is the library's

inline void VKAPI_CALL bind_pipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
inline void VKAPI_CALL bind_sets(VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                 uint32_t, const VkDescriptorSet*, uint32_t, const uint32_t*) {}
inline void VKAPI_CALL push(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t,
                            uint32_t, const void*) {}
inline void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t, uint32_t, uint32_t) {}
inline void VKAPI_CALL pipeline_barrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                        VkDependencyFlags, uint32_t, const VkMemoryBarrier*,
                                        uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                        const VkImageMemoryBarrier*) {}

struct Row {
    const char* name;
    PFN_vkVoidFunction function;
};

template <typename Function>
Row row(const char* name, Function* function) {
    return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

inline PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char* name);

inline PFN_vkVoidFunction ours(const char* name) {
    static const Row rows[] = {
        row("vkGetPhysicalDeviceMemoryProperties", memory),
        row("vkQueueSubmit", submit),
        row("vkWaitForFences", wait),
        row("vkCreateComputePipelines", pipelines),
        row("vkAllocateMemory", allocate_memory),
        row("vkFreeMemory", free_memory),
        row("vkDestroyPipelineCache", destroy_cache),
        row("vkGetDeviceProcAddr", of_device),
    };
    static const Row commands[] = {
        row("vkCmdBindPipeline", bind_pipeline),
        row("vkCmdBindDescriptorSets", bind_sets),
        row("vkCmdPushConstants", push),
        row("vkCmdDispatch", dispatch),
        row("vkCmdPipelineBarrier", pipeline_barrier),
    };
    for (const Row& one : rows) {
        if (std::strcmp(one.name, name) == 0) return one.function;
    }
    static const Row debug[] = {
        row("vkCmdBeginDebugUtilsLabelEXT", begin_label),
        row("vkCmdEndDebugUtilsLabelEXT", end_label),
        row("vkSetDebugUtilsObjectNameEXT", set_name),
    };
    for (const Row& one : debug) {
        if (std::strcmp(one.name, name) != 0) continue;
        return find<PFN_vkVoidFunction>(name) != nullptr ? one.function : nullptr;
    }
    for (const Row& one : commands) {
        if (no_commands && std::strcmp(one.name, name) == 0) return one.function;
    }
    return nullptr;
}

inline PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char* name) {
    if (PFN_vkVoidFunction const function = ours(name)) return function;
    return find<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device, name);
}

inline PFN_vkVoidFunction VKAPI_CALL get_proc_addr(VkInstance asked, const char* name) {
    if (asked != VK_NULL_HANDLE) instance = asked;
    if (PFN_vkVoidFunction const function = ours(name)) return function;
    return real(asked, name);
}

}  // namespace stand_in
