// Arm's emulation layer for VK_ARM_tensors and VK_ARM_data_graph: two Vulkan layers of a pip
// package.
#pragma once

#include <vector>

namespace arm_runtime::vgf {

/// The layers' names in the order that they need, from the application to the driver. They are
/// there, and their libraries are loaded.
///
/// Throws Error, which says what to install, or which variable to set: the Vulkan loader finds
/// layers by VK_LAYER_PATH.
std::vector<const char*> emulation_layers();

}  // namespace arm_runtime::vgf
