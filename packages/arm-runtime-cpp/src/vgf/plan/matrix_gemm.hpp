// Convolutions on matrix units: kernels/matrix.glsl.
#pragma once

#include <cstdint>

#include "planner.hpp"

namespace arm_runtime::vgf {

/// A convolution as a product of matrices.
struct MatrixProduct {
    int64_t m;        ///< pixels
    int64_t n;        ///< filters
    int64_t k_bytes;  ///< of what a sum is over
    ElementType type;
};

struct Windows;

/// Makes `group` one of a matrix kernel, with its tile and its weights [filters, K]. False: the
/// device has no matrix units for the type, the product is too small for them, or the device's
/// traits name the variant without; then nothing is set but the group's variants.
bool set_matrix_gemm(Planner& planner, Group& group, const MatrixProduct& product,
                     const Windows& windows, const Tensor& weights);

}  // namespace arm_runtime::vgf
