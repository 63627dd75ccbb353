// What the two layers of own_layers.hpp share: a device as they know it, and the calls that they
// take over.
#pragma once

#include <vulkan/vulkan_core.h>

#include <map>
#include <mutex>
#include <string>

#include "shader_store.hpp"
#include "shared_objects.hpp"

namespace arm_runtime::vgf {

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

/// What the layer at `place` knows of a device; nullptr: the device was made without it.
LayerDevice* find_device(Place place, VkDevice handle);

/// The layer's own function for a call that makes or destroys shaders, pipelines or their layouts;
/// nullptr: the call goes through.
PFN_vkVoidFunction own_call(Place place, const char* name);

}  // namespace arm_runtime::vgf
