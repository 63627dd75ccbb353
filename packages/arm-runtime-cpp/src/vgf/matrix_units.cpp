#include "matrix_units.hpp"

#include <algorithm>

#include "arm_calls.hpp"
#include "kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

// Threads of a subgroup that kernels/matrix.glsl takes: a row of the longest chunk (four steps of
// 32 bytes) is eight pieces, which as many threads read; every device has workgroups of 128
// threads.
constexpr uint32_t kLeastThreads = 8;
constexpr uint32_t kMostThreads = 128;

/// The bytes along K of the largest product of these types that the kernels take, or 0.
uint32_t bytes_of_k(const std::vector<MatrixProperties>& products, MatrixType operand,
                    MatrixType sum, uint32_t element) {
    uint32_t most = 0;
    for (const MatrixProperties& product : products) {
        const uint32_t bytes = product.k * element;
        const bool fits = product.m == MATRIX_SIDE && product.n == MATRIX_SIDE &&
                          (bytes == 16 || bytes == 32) && product.a == operand &&
                          product.b == operand && product.c == sum && product.result == sum &&
                          product.saturates == VK_FALSE && product.scope == kMatrixOfSubgroup;
        if (fits) most = std::max(most, bytes);
    }
    return most;
}

}  // namespace

MatrixUnits units_of(const std::vector<MatrixProperties>& products, VkShaderStageFlags stages,
                     const Subgroups& subgroups) {
    const auto& [threads, most] = subgroups;
    if ((stages & VK_SHADER_STAGE_COMPUTE_BIT) == 0 || threads != most) return {};
    const bool power_of_two = (threads & (threads - 1)) == 0;
    if (threads < kLeastThreads || threads > kMostThreads || !power_of_two) return {};
    return {threads, bytes_of_k(products, MatrixType::kInt8, MatrixType::kInt32, 1),
            bytes_of_k(products, MatrixType::kFloat16, MatrixType::kFloat32, 2)};
}

MatrixUnits matrix_units(const vk::raii::Instance& instance,
                         const vk::raii::PhysicalDevice& device) {
    constexpr const char* kCall = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
    const auto get = reinterpret_cast<GetMatrixProperties>(instance.getProcAddr(kCall));
    if (get == nullptr) return {};
    vk::PhysicalDeviceVulkan13Properties sizes;
    vk::PhysicalDeviceProperties2 properties;
    properties.pNext = &sizes;
    MatrixStages stages;
    sizes.pNext = &stages;
    (*device).getProperties2(&properties, *device.getDispatcher());
    uint32_t count = 0;
    check(get(*device, &count, nullptr), kCall);
    std::vector<MatrixProperties> products(count);
    check(get(*device, &count, products.data()), kCall);
    return units_of(products, stages.stages, {sizes.minSubgroupSize, sizes.maxSubgroupSize});
}

}  // namespace arm_runtime::vgf
