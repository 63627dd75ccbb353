#include "vulkan_api.hpp"

#include <dlfcn.h>

namespace arm_runtime::vgf {
namespace {

const char* word_for(VkResult result) {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
            return "out of host memory";
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
            return "out of device memory";
        case VK_ERROR_INITIALIZATION_FAILED:
            return "initialization failed";
        case VK_ERROR_DEVICE_LOST:
            return "the device was lost";
        case VK_ERROR_LAYER_NOT_PRESENT:
            return "a layer is missing";
        case VK_ERROR_EXTENSION_NOT_PRESENT:
            return "an extension is missing";
        case VK_ERROR_FEATURE_NOT_PRESENT:
            return "a feature is missing";
        case VK_ERROR_INCOMPATIBLE_DRIVER:
            return "no compatible driver";
        case VK_ERROR_FORMAT_NOT_SUPPORTED:
            return "a format is not supported";
        default:
            return "failed";
    }
}

template <typename Function, typename Lookup>
void find(Function& function, const char* name, Lookup lookup) {
    function = reinterpret_cast<Function>(lookup(name));
    if (function == nullptr) {
        throw Error(std::string("the Vulkan driver has no ") + name + "; a newer driver may");
    }
}

}  // namespace

Loader::Loader() {
    void* const library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw Error(std::string("no Vulkan loader on this machine (") + dlerror() +
                    "): install it and a driver, on Debian and Ubuntu `apt-get install libvulkan1 "
                    "mesa-vulkan-drivers`");
    }
    find(GetInstanceProcAddr, "vkGetInstanceProcAddr",
         [&](const char* name) { return dlsym(library, name); });
    find(CreateInstance, "vkCreateInstance",
         [&](const char* name) { return GetInstanceProcAddr(VK_NULL_HANDLE, name); });
}

const Loader& Loader::get() {
    // A constructor that throws runs again at the next call: someone may have installed it.
    static const Loader loader;
    return loader;
}

InstanceCalls::InstanceCalls(const Loader& loader, VkInstance instance) {
    const auto lookup = [&](const char* name) {
        return loader.GetInstanceProcAddr(instance, name);
    };
#define X(name) find(name, "vk" #name, lookup);
    ARM_VGF_INSTANCE_CALLS(X)
#undef X
}

DeviceCalls::DeviceCalls(const InstanceCalls& instance, VkDevice device, bool graphs) {
    const auto lookup = [&](const char* name) { return instance.GetDeviceProcAddr(device, name); };
#define X(name) find(name, "vk" #name, lookup);
    ARM_VGF_DEVICE_CALLS(X)
    if (!graphs) return;
    ARM_VGF_GRAPH_CALLS(X)
#undef X
}

OwnedInstance make_instance(const Loader& loader, const VkInstanceCreateInfo& info) {
    VkInstance handle = VK_NULL_HANDLE;
    const VkResult result = loader.CreateInstance(&info, nullptr, &handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        throw Error(
            "no Vulkan driver on this machine: install your GPU's, or Mesa's, which runs on the "
            "CPU (on Debian and Ubuntu `apt-get install mesa-vulkan-drivers`)");
    }
    check(result, "vkCreateInstance");
    Destroyer<VkInstance> destroy;
    find(destroy.call, "vkDestroyInstance",
         [&](const char* name) { return loader.GetInstanceProcAddr(handle, name); });
    return {handle, destroy};
}

OwnedDevice make_device(const InstanceCalls& calls, VkPhysicalDevice physical,
                        const VkDeviceCreateInfo& info) {
    VkDevice handle = VK_NULL_HANDLE;
    check(calls.CreateDevice(physical, &info, nullptr, &handle), "vkCreateDevice");
    Destroyer<VkDevice> destroy;
    find(destroy.call, "vkDestroyDevice",
         [&](const char* name) { return calls.GetDeviceProcAddr(handle, name); });
    return {handle, destroy};
}

void check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) return;
    throw Error(std::string(call) + ": " + word_for(result) + " (VkResult " +
                std::to_string(result) + ")");
}

}  // namespace arm_runtime::vgf
