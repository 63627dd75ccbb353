// How the Vulkan loader enters the two layers: instances, devices, and which functions are theirs.
#include "own_layers.hpp"

#include <dlfcn.h>
#include <vulkan/vk_layer.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "layer_device.hpp"

namespace arm_runtime::vgf {
namespace {

struct LayerInstance {
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkDestroyInstance destroy;  ///< later on, the loader's `next` would lead to the top again
};

/// The loader gives all objects of an instance, or of a device, one dispatch table.
template <typename Handle>
const void* table_of(Handle handle) {
    return *reinterpret_cast<const void* const*>(handle);
}

/// What exists in a process; never destroyed, as devices are not.
struct Known {
    std::mutex mutex;
    std::map<const void*, LayerInstance> instances;
    std::map<const void*, std::unique_ptr<LayerDevice>> devices;
};

Known& known(Place place) {
    static Known& upper = *new Known;
    static Known& lower = *new Known;
    return place == Place::kUpper ? upper : lower;
}

/// The loader's note to this layer, in the chain of a create info: a layer changes it.
template <typename Link, typename Info>
Link* link_of(const Info* info, VkStructureType type) {
    // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast)
    auto* link = const_cast<Link*>(static_cast<const Link*>(info->pNext));
    while (link && (link->sType != type || link->function != VK_LAYER_LINK_INFO)) {
        link = const_cast<Link*>(static_cast<const Link*>(link->pNext));
    }
    // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
    return link;
}

template <Place place>
VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                    const VkAllocationCallbacks* allocator, VkInstance* instance) {
    auto* const link =
        link_of<VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    const auto next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create =
        reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
    if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    const VkResult result = create(info, allocator, instance);
    if (result == VK_SUCCESS) {
        const std::lock_guard<std::mutex> lock(known(place).mutex);
        const auto destroy =
            reinterpret_cast<PFN_vkDestroyInstance>(next(*instance, "vkDestroyInstance"));
        known(place).instances[table_of(*instance)] = {*instance, next, destroy};
    }
    return result;
}

template <Place place>
void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    if (instance == VK_NULL_HANDLE) return;
    PFN_vkDestroyInstance destroy = nullptr;
    {
        const std::lock_guard<std::mutex> lock(known(place).mutex);
        const auto found = known(place).instances.find(table_of(instance));
        destroy = found->second.destroy;
        known(place).instances.erase(found);
    }
    destroy(instance, allocator);
}

template <Place place>
VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkDevice* handle) {
    auto* const link =
        link_of<VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    VkInstance instance = VK_NULL_HANDLE;
    {
        const std::lock_guard<std::mutex> lock(known(place).mutex);
        const auto found = known(place).instances.find(table_of(physical));
        if (found != known(place).instances.end()) instance = found->second.handle;
    }
    if (link == nullptr || instance == VK_NULL_HANDLE) return VK_ERROR_INITIALIZATION_FAILED;
    const auto next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    const auto next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const auto create =
        reinterpret_cast<PFN_vkCreateDevice>(next_instance(instance, "vkCreateDevice"));
    if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    const VkResult result = create(physical, info, allocator, handle);
    if (result != VK_SUCCESS) return result;
    auto device = std::make_unique<LayerDevice>();
    device->next = next;
#define X(name) device->name = reinterpret_cast<PFN_vk##name>(next(*handle, "vk" #name));
    ARM_VGF_LAYER_CALLS(X)
#undef X
    if (place == Place::kUpper) {
        // The lower layer's part of this call is done by now.
        if (const LayerDevice* const lower = find_device(Place::kLower, *handle)) {
            device->create_below = lower->CreateShaderModule;
        }
    }
    const std::lock_guard<std::mutex> lock(known(place).mutex);
    known(place).devices[table_of(*handle)] = std::move(device);
    return VK_SUCCESS;
}

template <Place place>
void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
    if (handle == VK_NULL_HANDLE) return;
    std::unique_ptr<LayerDevice> device;
    {
        const std::lock_guard<std::mutex> lock(known(place).mutex);
        const auto found = known(place).devices.find(table_of(handle));
        device = std::move(found->second);
        known(place).devices.erase(found);
    }
    device->DestroyDevice(handle, allocator);
}

template <typename Function>
PFN_vkVoidFunction plain(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

template <Place place>
PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

/// A layer's own function of a device of this name, or nullptr.
template <Place place>
PFN_vkVoidFunction own_device_function(const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return plain(device_function<place>);
    if (std::strcmp(name, "vkDestroyDevice") == 0) return plain(destroy_device<place>);
    return own_call(place, name);
}

template <Place place>
PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    if (const auto own = own_device_function<place>(name)) return own;
    const LayerDevice* const found = find_device(place, device);
    return found ? found->next(device, name) : nullptr;
}

template <Place place>
PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkGetInstanceProcAddr") == 0) return plain(instance_function<place>);
    if (std::strcmp(name, "vkCreateInstance") == 0) return plain(create_instance<place>);
    if (std::strcmp(name, "vkDestroyInstance") == 0) return plain(destroy_instance<place>);
    if (std::strcmp(name, "vkCreateDevice") == 0) return plain(create_device<place>);
    if (const auto own = own_device_function<place>(name)) return own;
    if (instance == VK_NULL_HANDLE) return nullptr;
    PFN_vkGetInstanceProcAddr next = nullptr;
    {
        const std::lock_guard<std::mutex> lock(known(place).mutex);
        const auto found = known(place).instances.find(table_of(instance));
        if (found != known(place).instances.end()) next = found->second.next;
    }
    return next ? next(instance, name) : nullptr;
}

template <Place place>
VkResult negotiate(VkNegotiateLayerInterface* version) {
    if (version->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = instance_function<place>;
    version->pfnGetDeviceProcAddr = device_function<place>;
    version->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}

}  // namespace

LayerDevice* find_device(Place place, VkDevice handle) {
    Known& all = known(place);
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.devices.find(table_of(handle));
    return found == all.devices.end() ? nullptr : found->second.get();
}

extern "C" {

__attribute__((visibility("default"))) VkResult VKAPI_CALL
arm_vgf_layer_above_tensors(VkNegotiateLayerInterface* version) {
    return negotiate<Place::kUpper>(version);
}

__attribute__((visibility("default"))) VkResult VKAPI_CALL
arm_vgf_layer_below_tensors(VkNegotiateLayerInterface* version) {
    return negotiate<Place::kLower>(version);
}
}

std::optional<std::string> library_of_own_layers() {
    Dl_info here{};
    if (!dladdr(reinterpret_cast<void*>(&library_of_own_layers), &here)) return std::nullopt;
    const std::string path = std::filesystem::absolute(here.dli_fname).string();
    // The same library once more, which is how the loader will have it; an executable is none.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return std::nullopt;
    const bool exported =
        dlsym(library, kUpperEntry) != nullptr && dlsym(library, kLowerEntry) != nullptr;
    dlclose(library);
    return exported ? std::optional(path) : std::nullopt;
}

void use_shader_store(VkDevice handle, ShaderStore& store) {
    LayerDevice* const device = find_device(Place::kUpper, handle);
    if (device == nullptr) return;
    const std::lock_guard<std::mutex> lock(device->mutex);
    device->store = &store;
}

}  // namespace arm_runtime::vgf
