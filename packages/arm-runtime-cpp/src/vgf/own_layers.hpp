// Two Vulkan layers of this runtime's own, above and below Arm's tensor layer.
//
// The graph layer makes a shader module and a pipeline for every operator of a graph, most of which
// are the same few; the tensor layer translates each module by way of GLSL and a compiler. The
// upper layer makes each module and pipeline once, and asks a ShaderStore for the translation; the
// lower one sees the translations that are new. Both know Vulkan only, not how Arm's layers work:
// what they cannot judge goes through unchanged.
#pragma once

#include <vulkan/vulkan_core.h>

#include <optional>
#include <string>

#include "shader_store.hpp"

namespace arm_runtime::vgf {

constexpr const char* kUpperLayer = "VK_LAYER_ARM_RUNTIME_above_tensors";
constexpr const char* kLowerLayer = "VK_LAYER_ARM_RUNTIME_below_tensors";
/// The functions by which the loader enters them.
constexpr const char* kUpperEntry = "arm_vgf_layer_above_tensors";
constexpr const char* kLowerEntry = "arm_vgf_layer_below_tensors";

/// The shared library that holds them, which is the one that holds this function; none where that
/// is an executable, which the Vulkan loader cannot open: loading then works, and takes longer.
std::optional<std::string> library_of_own_layers();

/// From now on, shaders of the device `handle` come from `store` and go there; `store` must outlive
/// the device. Nothing, where the device was made without these layers.
void use_shader_store(VkDevice handle, ShaderStore& store);

}  // namespace arm_runtime::vgf
