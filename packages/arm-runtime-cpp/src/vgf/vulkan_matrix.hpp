// What this runtime uses of VK_KHR_cooperative_matrix, which Debian 12's vulkan_core.h lacks.
// Numbers and layouts are those of the Vulkan registry (vk.xml 1.4, spec version 2 of the
// extension); the names are ours, so that newer headers do not clash.
#pragma once

#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {

constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

struct MatrixFeatures : Chained<1000506000> {
    VkBool32 matrices = VK_FALSE;
    VkBool32 robust_access = VK_FALSE;
};

enum class MatrixType : int32_t { kFloat16 = 0, kFloat32 = 1, kInt8 = 3, kInt32 = 5 };
constexpr int32_t kMatrixOfSubgroup = 3;

/// A product [m, k] x [k, n] + c that a device has.
struct MatrixProperties : Chained<1000506001> {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    MatrixType a{};
    MatrixType b{};
    MatrixType c{};
    MatrixType result{};
    VkBool32 saturates = VK_FALSE;
    int32_t scope = 0;
};

struct MatrixStages : Chained<1000506002> {
    VkShaderStageFlags stages = 0;  ///< that multiply matrices
};

using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice device, uint32_t* count,
                                                 MatrixProperties* properties);

}  // namespace arm_runtime::vgf
