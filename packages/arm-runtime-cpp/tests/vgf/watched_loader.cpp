// A libvulkan.so.1 for tests, in front of the one that WATCHED_LOADER names: says on stderr which
// instances and devices are made and destroyed, which of them have robustBufferAccess, and when
// memory is allocated and pipelines are compiled; has no function of the name WATCHED_MISSING; the
// one named WATCHED_FAILING, of those below that can be, fails. With WATCHED_STATISTICS, devices
// have a neural accelerator that counts: see counting_device.hpp. While there is WATCHED_LOST, what
// is submitted loses the device.
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "counting_device.hpp"

namespace {

template <typename Function>
Function real(const char* name) {
    static void* const library = dlopen(std::getenv("WATCHED_LOADER"), RTLD_NOW | RTLD_LOCAL);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "watched: %s\n", dlerror());
        std::abort();
    }
    return reinterpret_cast<Function>(found);
}

bool is_named(const char* variable, const char* name) {
    const char* const named = std::getenv(variable);
    return named != nullptr && std::strcmp(named, name) == 0;
}

void say(const char* event) { std::fprintf(stderr, "watched: %s\n", event); }

VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                    const VkAllocationCallbacks* allocator, VkInstance* instance) {
    const VkResult result =
        real<PFN_vkCreateInstance>("vkCreateInstance")(info, allocator, instance);
    if (result == VK_SUCCESS) say("instance made");
    return result;
}

void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    say("instance destroyed");
    real<PFN_vkDestroyInstance>("vkDestroyInstance")(instance, allocator);
}

bool has_robust_buffers(const VkDeviceCreateInfo& info) {
    for (auto* one = static_cast<const VkBaseInStructure*>(info.pNext); one; one = one->pNext) {
        if (one->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            const auto* all = reinterpret_cast<const VkPhysicalDeviceFeatures2*>(one);
            return all->features.robustBufferAccess == VK_TRUE;
        }
    }
    return false;
}

VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkDevice* device) {
    const VkResult result =
        real<PFN_vkCreateDevice>("vkCreateDevice")(physical, info, allocator, device);
    if (result == VK_SUCCESS) say("device made");
    if (result == VK_SUCCESS && has_robust_buffers(*info)) say("robust buffers");
    return result;
}

void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
    say("device destroyed");
    real<PFN_vkDestroyDevice>("vkDestroyDevice")(device, allocator);
}

VkResult VKAPI_CALL enumerate(VkInstance instance, uint32_t* count, VkPhysicalDevice* devices) {
    if (is_named("WATCHED_FAILING", "vkEnumeratePhysicalDevices")) {
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    return real<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, count,
                                                                              devices);
}

VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                                 const VkAllocationCallbacks* allocator, VkPipelineCache* cache) {
    if (is_named("WATCHED_FAILING", "vkCreatePipelineCache")) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return real<PFN_vkCreatePipelineCache>("vkCreatePipelineCache")(device, info, allocator, cache);
}

VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                    const VkAllocationCallbacks* allocator,
                                    VkDeviceMemory* memory) {
    say("memory allocated");
    return real<PFN_vkAllocateMemory>("vkAllocateMemory")(device, info, allocator, memory);
}

VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* allocator,
                                     VkPipeline* pipelines) {
    say("pipelines made");
    return real<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(
        device, cache, count, infos, allocator, pipelines);
}

VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                           VkFence fence) {
    if (std::getenv("WATCHED_LOST") != nullptr) return VK_ERROR_DEVICE_LOST;
    return real<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, count, infos, fence);
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

struct Watched {
    const char* name;
    PFN_vkVoidFunction function;
};

template <typename Function>
Watched watched(const char* name, Function function) {
    return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

/// True: `found` is what to give for this name, whatever the real loader has.
bool is_watched(const char* name, PFN_vkVoidFunction& found) {
    static const Watched functions[] = {
        watched("vkCreateInstance", create_instance),
        watched("vkDestroyInstance", destroy_instance),
        watched("vkCreateDevice", create_device),
        watched("vkDestroyDevice", destroy_device),
        watched("vkEnumeratePhysicalDevices", enumerate),
        watched("vkCreatePipelineCache", create_cache),
        watched("vkAllocateMemory", allocate_memory),
        watched("vkCreateComputePipelines", create_pipelines),
        watched("vkQueueSubmit", submit),
        watched("vkGetDeviceProcAddr", device_function),
    };
    found = nullptr;
    if (is_named("WATCHED_MISSING", name)) return true;
    for (const Watched& one : functions) {
        if (std::strcmp(one.name, name) == 0) found = one.function;
    }
    if (std::getenv("WATCHED_STATISTICS") != nullptr) {
        const auto counting = counting_function(name, real<PFN_vkVoidFunction>);
        if (counting != nullptr) found = counting;
    }
    return found != nullptr;
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    PFN_vkVoidFunction found = nullptr;
    if (is_watched(name, found)) return found;
    return real<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
    PFN_vkVoidFunction found = nullptr;
    if (is_watched(name, found)) return found;
    return real<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr")(instance, name);
}
