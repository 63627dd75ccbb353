// What devices multiply as matrices.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "vulkan_api.hpp"
#include "vulkan_matrix.hpp"

namespace arm_runtime::vgf {

/// Threads in a device's subgroups.
struct Subgroups {
    uint32_t least;
    uint32_t most;
};

/// What our kernels use of the products that a device has in these shader stages. None, if there
/// are none in compute shaders, or the number of threads in a subgroup varies or is not one of
/// those that the kernels take.
MatrixUnits units_of(const std::vector<MatrixProperties>& products, VkShaderStageFlags stages,
                     const Subgroups& subgroups);

/// The same of a device that has VK_KHR_cooperative_matrix and Vulkan 1.3.
MatrixUnits matrix_units(const vk::raii::Instance& instance,
                         const vk::raii::PhysicalDevice& device);

}  // namespace arm_runtime::vgf
