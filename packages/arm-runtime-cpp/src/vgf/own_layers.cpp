#include "own_layers.hpp"

#include <dlfcn.h>
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "shared_objects.hpp"

namespace arm_runtime::vgf {
namespace {

enum class Place { kUpper, kLower };

#define ARM_VGF_LAYER_CALLS(X)    \
    X(CreateComputePipelines)     \
    X(CreateDescriptorSetLayout)  \
    X(CreatePipelineLayout)       \
    X(CreateShaderModule)         \
    X(DestroyDescriptorSetLayout) \
    X(DestroyDevice)              \
    X(DestroyPipeline)            \
    X(DestroyPipelineLayout)      \
    X(DestroyShaderModule)

constexpr VkStructureType kBindingFlags =
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;

/// What a layer knows of a device.
struct LayerDevice {
    PFN_vkGetDeviceProcAddr next = nullptr;
#define X(name) PFN_vk##name name = nullptr;
    ARM_VGF_LAYER_CALLS(X)
#undef X
    // Of the upper layer:
    std::mutex mutex;
    ShaderStore* store = nullptr;
    PFN_vkCreateShaderModule create_below = nullptr;  ///< below the tensor layer
    SharedObjects<VkShaderModule> modules;
    SharedObjects<VkPipeline> pipelines;
    std::map<VkDescriptorSetLayout, std::string> set_layouts;  ///< how they were made
    std::map<VkPipelineLayout, std::string> layouts;
};

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

template <Place place>
Known& known() {
    static Known& all = *new Known;
    return all;
}

template <Place place>
LayerDevice* find_device(VkDevice handle) {
    const std::lock_guard<std::mutex> lock(known<place>().mutex);
    const auto found = known<place>().devices.find(table_of(handle));
    return found == known<place>().devices.end() ? nullptr : found->second.get();
}

// Where the lower layer leaves the code that reaches it while the upper one waits for it.
thread_local std::vector<uint32_t>* translated = nullptr;  // NOLINT: between two callbacks

/// The loader's note to this layer, in the chain of a create info.
template <typename Link, typename Info>
Link* link_of(const Info* info, VkStructureType type) {
    auto* link = static_cast<Link*>(const_cast<void*>(info->pNext));
    while (link && (link->sType != type || link->function != VK_LAYER_LINK_INFO)) {
        link = static_cast<Link*>(const_cast<void*>(link->pNext));
    }
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
        const std::lock_guard<std::mutex> lock(known<place>().mutex);
        const auto destroy =
            reinterpret_cast<PFN_vkDestroyInstance>(next(*instance, "vkDestroyInstance"));
        known<place>().instances[table_of(*instance)] = {*instance, next, destroy};
    }
    return result;
}

template <Place place>
void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
    if (instance == VK_NULL_HANDLE) return;
    PFN_vkDestroyInstance destroy = nullptr;
    {
        const std::lock_guard<std::mutex> lock(known<place>().mutex);
        const auto found = known<place>().instances.find(table_of(instance));
        destroy = found->second.destroy;
        known<place>().instances.erase(found);
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
        const std::lock_guard<std::mutex> lock(known<place>().mutex);
        const auto found = known<place>().instances.find(table_of(physical));
        if (found != known<place>().instances.end()) instance = found->second.handle;
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
        if (const LayerDevice* const lower = find_device<Place::kLower>(*handle)) {
            device->create_below = lower->CreateShaderModule;
        }
    }
    const std::lock_guard<std::mutex> lock(known<place>().mutex);
    known<place>().devices[table_of(*handle)] = std::move(device);
    return VK_SUCCESS;
}

template <Place place>
void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
    if (handle == VK_NULL_HANDLE) return;
    std::unique_ptr<LayerDevice> device;
    {
        const std::lock_guard<std::mutex> lock(known<place>().mutex);
        const auto found = known<place>().devices.find(table_of(handle));
        device = std::move(found->second);
        known<place>().devices.erase(found);
    }
    device->DestroyDevice(handle, allocator);
}

VkResult VKAPI_CALL create_module_below(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                        const VkAllocationCallbacks* allocator,
                                        VkShaderModule* module) {
    if (translated) translated->assign(info->pCode, info->pCode + info->codeSize / 4);
    return find_device<Place::kLower>(handle)->CreateShaderModule(handle, info, allocator, module);
}

template <typename T>
void append(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    if (info->pNext || info->flags || allocator) {
        return device.CreateShaderModule(handle, info, allocator, module);
    }
    const ShaderKey sums = key_of(info->pCode, info->codeSize / sizeof(uint32_t));
    std::string key;
    append(key, sums.first);
    append(key, sums.second);
    const std::lock_guard<std::mutex> lock(device.mutex);
    *module = device.modules.share(key);
    if (*module != VK_NULL_HANDLE) return VK_SUCCESS;
    VkResult result = VK_SUCCESS;
    const std::vector<uint32_t>* const stored =
        device.store && device.create_below ? device.store->find(sums) : nullptr;
    if (stored) {
        VkShaderModuleCreateInfo below = *info;
        below.codeSize = stored->size() * sizeof(uint32_t);
        below.pCode = stored->data();
        result = device.create_below(handle, &below, allocator, module);
    } else {
        std::vector<uint32_t> code;
        translated = &code;
        result = device.CreateShaderModule(handle, info, allocator, module);
        translated = nullptr;
        if (result == VK_SUCCESS && device.store && !code.empty()) {
            device.store->add(sums, std::move(code));
        }
    }
    if (result == VK_SUCCESS) device.modules.add(key, *module);
    return result;
}

void VKAPI_CALL destroy_module(VkDevice handle, VkShaderModule module,
                               const VkAllocationCallbacks* allocator) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (device.modules.release(module)) device.DestroyShaderModule(handle, module, allocator);
}

VkResult VKAPI_CALL create_set_layout(VkDevice handle, const VkDescriptorSetLayoutCreateInfo* info,
                                      const VkAllocationCallbacks* allocator,
                                      VkDescriptorSetLayout* layout) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    const VkResult result = device.CreateDescriptorSetLayout(handle, info, allocator, layout);
    std::string key;
    append(key, info->flags);
    append(key, info->bindingCount);
    bool plain = result == VK_SUCCESS;
    if (const auto* const more = static_cast<const VkBaseInStructure*>(info->pNext)) {
        plain = plain && more->pNext == nullptr && more->sType == kBindingFlags;
        const auto* const flags =
            reinterpret_cast<const VkDescriptorSetLayoutBindingFlagsCreateInfo*>(more);
        for (uint32_t i = 0; plain && i < flags->bindingCount; ++i) {
            append(key, flags->pBindingFlags[i]);
        }
    }
    for (uint32_t i = 0; i < info->bindingCount; ++i) {
        const VkDescriptorSetLayoutBinding& b = info->pBindings[i];
        plain = plain && b.pImmutableSamplers == nullptr;
        for (const uint32_t word : {b.binding, static_cast<uint32_t>(b.descriptorType),
                                    b.descriptorCount, static_cast<uint32_t>(b.stageFlags)}) {
            append(key, word);
        }
    }
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (plain) device.set_layouts[*layout] = key;
    return result;
}

void VKAPI_CALL destroy_set_layout(VkDevice handle, VkDescriptorSetLayout layout,
                                   const VkAllocationCallbacks* allocator) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        device.set_layouts.erase(layout);
    }
    device.DestroyDescriptorSetLayout(handle, layout, allocator);
}

VkResult VKAPI_CALL create_layout(VkDevice handle, const VkPipelineLayoutCreateInfo* info,
                                  const VkAllocationCallbacks* allocator,
                                  VkPipelineLayout* layout) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    const VkResult result = device.CreatePipelineLayout(handle, info, allocator, layout);
    const std::lock_guard<std::mutex> lock(device.mutex);
    std::string key;
    append(key, info->flags);
    append(key, info->setLayoutCount);
    bool plain = result == VK_SUCCESS && info->pNext == nullptr;
    for (uint32_t i = 0; plain && i < info->setLayoutCount; ++i) {
        const auto set = device.set_layouts.find(info->pSetLayouts[i]);
        plain = set != device.set_layouts.end();
        if (!plain) break;
        append(key, set->second.size());
        key += set->second;
    }
    for (uint32_t i = 0; i < info->pushConstantRangeCount; ++i) {
        append(key, info->pPushConstantRanges[i]);
    }
    if (plain) device.layouts[*layout] = key;
    return result;
}

void VKAPI_CALL destroy_layout(VkDevice handle, VkPipelineLayout layout,
                               const VkAllocationCallbacks* allocator) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        device.layouts.erase(layout);
    }
    device.DestroyPipelineLayout(handle, layout, allocator);
}

/// What a pipeline is made of: equal keys make equal pipelines, whose layouts Vulkan calls
/// compatible. Empty: this layer cannot say.
std::string pipeline_key(const LayerDevice& device, const VkComputePipelineCreateInfo& info) {
    const VkPipelineShaderStageCreateInfo& stage = info.stage;
    const std::string* const module = device.modules.key_of(stage.module);
    const auto layout = device.layouts.find(info.layout);
    if (!module || layout == device.layouts.end() || info.pNext || info.flags || stage.pNext ||
        stage.flags) {
        return {};
    }
    std::string key = *module + stage.pName + '\0';
    append(key, layout->second.size());
    key += layout->second;
    if (const VkSpecializationInfo* const values = stage.pSpecializationInfo) {
        for (uint32_t i = 0; i < values->mapEntryCount; ++i) {
            const VkSpecializationMapEntry& entry = values->pMapEntries[i];
            append(key, entry.constantID);
            append(key, entry.size);
            key.append(static_cast<const char*>(values->pData) + entry.offset, entry.size);
        }
    }
    return key;
}

VkResult VKAPI_CALL create_pipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                     const VkComputePipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* allocator,
                                     VkPipeline* pipelines) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    const std::lock_guard<std::mutex> lock(device.mutex);
    const std::string key = count == 1 && !allocator ? pipeline_key(device, infos[0]) : "";
    if (!key.empty()) {
        pipelines[0] = device.pipelines.share(key);
        if (pipelines[0] != VK_NULL_HANDLE) return VK_SUCCESS;
    }
    const VkResult result =
        device.CreateComputePipelines(handle, cache, count, infos, allocator, pipelines);
    if (result == VK_SUCCESS && !key.empty()) device.pipelines.add(key, pipelines[0]);
    return result;
}

void VKAPI_CALL destroy_pipeline(VkDevice handle, VkPipeline pipeline,
                                 const VkAllocationCallbacks* allocator) {
    LayerDevice& device = *find_device<Place::kUpper>(handle);
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (device.pipelines.release(pipeline)) device.DestroyPipeline(handle, pipeline, allocator);
}

template <typename Function>
PFN_vkVoidFunction plain(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

template <Place place>
PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

template <Place place>
PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name);

/// A layer's own function of this name, or nullptr.
template <Place place>
PFN_vkVoidFunction own_device_function(const char* name) {
    struct Own {
        const char* name;
        PFN_vkVoidFunction function;
    };
    static const Own kBoth[] = {{"vkGetDeviceProcAddr", plain(device_function<place>)},
                                {"vkDestroyDevice", plain(destroy_device<place>)}};
    static const Own kLower[] = {{"vkCreateShaderModule", plain(create_module_below)}};
    static const Own kUpper[] = {
        {"vkCreateComputePipelines", plain(create_pipelines)},
        {"vkCreateDescriptorSetLayout", plain(create_set_layout)},
        {"vkCreatePipelineLayout", plain(create_layout)},
        {"vkCreateShaderModule", plain(create_module)},
        {"vkDestroyDescriptorSetLayout", plain(destroy_set_layout)},
        {"vkDestroyPipeline", plain(destroy_pipeline)},
        {"vkDestroyPipelineLayout", plain(destroy_layout)},
        {"vkDestroyShaderModule", plain(destroy_module)},
    };
    const auto look = [name](const Own* begin, const Own* end) {
        const Own* const found = std::find_if(
            begin, end, [name](const Own& own) { return std::strcmp(own.name, name) == 0; });
        return found == end ? nullptr : found->function;
    };
    if (const auto both = look(std::begin(kBoth), std::end(kBoth))) return both;
    return place == Place::kUpper ? look(std::begin(kUpper), std::end(kUpper))
                                  : look(std::begin(kLower), std::end(kLower));
}

template <Place place>
PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    if (const auto own = own_device_function<place>(name)) return own;
    const LayerDevice* const found = find_device<place>(device);
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
        const std::lock_guard<std::mutex> lock(known<place>().mutex);
        const auto found = known<place>().instances.find(table_of(instance));
        if (found != known<place>().instances.end()) next = found->second.next;
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
    const bool exported = dlsym(library, kUpperEntry) && dlsym(library, kLowerEntry);
    dlclose(library);
    return exported ? std::optional(path) : std::nullopt;
}

void use_shader_store(VkDevice handle, ShaderStore& store) {
    LayerDevice* const device = find_device<Place::kUpper>(handle);
    if (device == nullptr) return;
    const std::lock_guard<std::mutex> lock(device->mutex);
    device->store = &store;
}

}  // namespace arm_runtime::vgf
