#include "vulkan_api.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstring>

namespace arm_runtime::vgf {
namespace {

const char* word_for(vk::Result result) {
    switch (result) {
        case vk::Result::eErrorOutOfHostMemory:
            return "out of host memory";
        case vk::Result::eErrorOutOfDeviceMemory:
            return "out of device memory";
        case vk::Result::eErrorInitializationFailed:
            return "initialization failed";
        case vk::Result::eErrorDeviceLost:
            return "the device was lost";
        case vk::Result::eErrorLayerNotPresent:
            return "a layer is missing";
        case vk::Result::eErrorExtensionNotPresent:
            return "an extension is missing";
        case vk::Result::eErrorFeatureNotPresent:
            return "a feature is missing";
        case vk::Result::eErrorIncompatibleDriver:
            return "no compatible driver";
        case vk::Result::eErrorFormatNotSupported:
            return "a format is not supported";
        default:
            return "failed";
    }
}

/// The name in C of what vulkan_raii.hpp calls "vkCreateFence" or "NAMESPACE::Device::resetFences".
std::string name_in_c(const std::string& name) {
    const size_t method = name.rfind("::");
    if (method == std::string::npos) return name;
    // Those that are not "vk" and the method's name.
    static constexpr const char* kOthers[][2] = {
        {"Buffer::bindMemory", "vkBindBufferMemory"},
        {"CommandBuffer::begin", "vkBeginCommandBuffer"},
        {"CommandBuffer::end", "vkEndCommandBuffer"},
        {"PipelineCache::getData", "vkGetPipelineCacheData"},
        {"QueryPool::getResults", "vkGetQueryPoolResults"},
        {"Queue::submit", "vkQueueSubmit"},
    };
    for (const auto& [from, to] : kOthers) {
        const size_t length = std::strlen(from);
        if (name.size() > length && name.compare(name.size() - length, length, from) == 0)
            return to;
    }
    std::string called = "vk" + name.substr(method + 2);
    called[2] = static_cast<char>(std::toupper(static_cast<unsigned char>(called[2])));
    return called;
}

PFN_vkGetInstanceProcAddr open_loader() {
    void* const library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void* const entry = library ? dlsym(library, "vkGetInstanceProcAddr") : nullptr;
    if (entry == nullptr) {
        throw Error(std::string("no Vulkan loader on this machine (") + dlerror() +
                    "): install it and a driver, on Debian and Ubuntu `apt-get install libvulkan1 "
                    "mesa-vulkan-drivers`");
    }
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(entry);
}

}  // namespace

const vk::raii::Context& vulkan() {
    // Never destroyed, as devices are not. If opening throws, the next call tries again: someone
    // may have installed it.
    static const auto& context = *new vk::raii::Context(open_loader());
    return context;
}

// The tables of functions are of these objects alone, which are not const.
// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast)
void keep(const vk::raii::Instance& instance) {
    using Functions = vk::raii::InstanceDispatcher;
    const_cast<Functions*>(instance.getDispatcher())->vkDestroyInstance =
        [](VkInstance, const VkAllocationCallbacks*) {};
}

void keep(const vk::raii::Device& device) {
    using Functions = vk::raii::DeviceDispatcher;
    const_cast<Functions*>(device.getDispatcher())->vkDestroyDevice =
        [](VkDevice, const VkAllocationCallbacks*) {};
}
// NOLINTEND(cppcoreguidelines-pro-type-const-cast)

std::string text_of(const vk::SystemError& error) {
    const std::string said = error.what();
    const auto result = static_cast<vk::Result>(error.code().value());
    return name_in_c(said.substr(0, said.find(": "))) + ": " + word_for(result) + " (VkResult " +
           std::to_string(error.code().value()) + ")";
}

}  // namespace arm_runtime::vgf
