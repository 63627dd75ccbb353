// A stand-in for a device with VK_ARM_data_graph_neural_accelerator_statistics, in front of one
// that has VK_ARM_data_graph: it takes what the extension adds out of calls, checks it, and counts
// runs. What a session asks for is said on stderr.
#pragma once

#include <vulkan/vulkan_core.h>

/// The function to give in place of the real one, which `real` finds; nullptr: none.
PFN_vkVoidFunction counting_function(const char* name, PFN_vkVoidFunction (*real)(const char*));
