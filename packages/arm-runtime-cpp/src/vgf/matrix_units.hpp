// What devices multiply as matrices.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "vulkan_api.hpp"
#include "vulkan_matrix.hpp"

namespace arm_runtime::vgf {

/// What our kernels use of the products that a device has; `subgroup`: its threads.
MatrixUnits units_of(const std::vector<MatrixProperties>& products, uint32_t subgroup);

/// The same of a device that has VK_KHR_cooperative_matrix and Vulkan 1.3. None, if the number of
/// threads in its subgroups varies.
MatrixUnits matrix_units(const vk::raii::Instance& instance,
                         const vk::raii::PhysicalDevice& device);

}  // namespace arm_runtime::vgf
