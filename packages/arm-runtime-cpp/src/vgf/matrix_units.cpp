#include "matrix_units.hpp"

#include <algorithm>

#include "arm_calls.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint32_t kSide = 16;  // of a matrix of sums

/// The bytes along K of the largest product of these types that the kernels take, or 0.
uint32_t bytes_of_k(const std::vector<MatrixProperties>& products, MatrixType operand,
                    MatrixType sum, uint32_t element) {
    uint32_t most = 0;
    for (const MatrixProperties& product : products) {
        const uint32_t bytes = product.k * element;
        const bool fits = product.m == kSide && product.n == kSide &&
                          (bytes == 16 || bytes == 32) && product.a == operand &&
                          product.b == operand && product.c == sum && product.result == sum &&
                          product.saturates == VK_FALSE && product.scope == kMatrixOfSubgroup;
        if (fits) most = std::max(most, bytes);
    }
    return most;
}

}  // namespace

MatrixUnits units_of(const std::vector<MatrixProperties>& products, uint32_t subgroup) {
    return {subgroup, bytes_of_k(products, MatrixType::kInt8, MatrixType::kInt32, 1),
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
    (*device).getProperties2(&properties, *device.getDispatcher());
    if (sizes.minSubgroupSize != sizes.maxSubgroupSize) return {};
    uint32_t count = 0;
    check(get(*device, &count, nullptr), kCall);
    std::vector<MatrixProperties> products(count);
    check(get(*device, &count, products.data()), kCall);
    return units_of(products, sizes.minSubgroupSize);
}

}  // namespace arm_runtime::vgf
