// The calls of the two layers: equal shaders and pipelines are made once, translations are kept.
#include <cstring>
#include <string>
#include <vector>

#include "layer_device.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr VkStructureType kBindingFlags =
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;

// Where the lower layer leaves the code that reaches it while the upper one waits for it.
thread_local std::vector<uint32_t>* translated = nullptr;  // NOLINT: between two callbacks

VkResult VKAPI_CALL create_module_below(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                        const VkAllocationCallbacks* allocator,
                                        VkShaderModule* module) {
    if (translated) translated->assign(info->pCode, info->pCode + info->codeSize / 4);
    return find_device(Place::kLower, handle)->CreateShaderModule(handle, info, allocator, module);
}

template <typename T>
void append(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    LayerDevice& device = *find_device(Place::kUpper, handle);
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
    LayerDevice& device = *find_device(Place::kUpper, handle);
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (device.modules.release(module)) device.DestroyShaderModule(handle, module, allocator);
}

VkResult VKAPI_CALL create_set_layout(VkDevice handle, const VkDescriptorSetLayoutCreateInfo* info,
                                      const VkAllocationCallbacks* allocator,
                                      VkDescriptorSetLayout* layout) {
    LayerDevice& device = *find_device(Place::kUpper, handle);
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
    LayerDevice& device = *find_device(Place::kUpper, handle);
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        device.set_layouts.erase(layout);
    }
    device.DestroyDescriptorSetLayout(handle, layout, allocator);
}

VkResult VKAPI_CALL create_layout(VkDevice handle, const VkPipelineLayoutCreateInfo* info,
                                  const VkAllocationCallbacks* allocator,
                                  VkPipelineLayout* layout) {
    LayerDevice& device = *find_device(Place::kUpper, handle);
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
    LayerDevice& device = *find_device(Place::kUpper, handle);
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
    LayerDevice& device = *find_device(Place::kUpper, handle);
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
    LayerDevice& device = *find_device(Place::kUpper, handle);
    const std::lock_guard<std::mutex> lock(device.mutex);
    if (device.pipelines.release(pipeline)) device.DestroyPipeline(handle, pipeline, allocator);
}

struct Own {
    const char* name;
    PFN_vkVoidFunction function;
};

template <typename Function>
Own own(const char* name, Function function) {
    return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

}  // namespace

PFN_vkVoidFunction own_call(Place place, const char* name) {
    static const std::vector<Own> kLower = {own("vkCreateShaderModule", create_module_below)};
    static const std::vector<Own> kUpper = {
        own("vkCreateComputePipelines", create_pipelines),
        own("vkCreateDescriptorSetLayout", create_set_layout),
        own("vkCreatePipelineLayout", create_layout),
        own("vkCreateShaderModule", create_module),
        own("vkDestroyDescriptorSetLayout", destroy_set_layout),
        own("vkDestroyPipeline", destroy_pipeline),
        own("vkDestroyPipelineLayout", destroy_layout),
        own("vkDestroyShaderModule", destroy_module),
    };
    for (const Own& call : place == Place::kUpper ? kUpper : kLower) {
        if (std::strcmp(call.name, name) == 0) return call.function;
    }
    return nullptr;
}

}  // namespace arm_runtime::vgf
