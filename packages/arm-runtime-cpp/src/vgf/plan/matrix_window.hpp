// Convolutions of large pictures on matrix units: kernels/matrix_window.glsl.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "matrix_gemm.hpp"

namespace arm_runtime::vgf {

/// The windows of a convolution whose results are pictures.
struct Windows {
    std::array<int64_t, 2> kernel{};  ///< rows and columns, as the others
    std::array<int64_t, 2> stride{};
    std::array<int64_t, 2> dilation{};
    std::array<int64_t, 2> result{};
    int64_t images = 0;
    std::vector<int64_t> parts;  ///< of the picture that it reads: bytes of a pixel of each
};

/// What a workgroup computes, and how much of the picture it has at once.
struct WindowTile {
    uint32_t subgroups;
    uint32_t rows;     ///< of pixels, of a subgroup
    uint32_t columns;  ///< matrices of filters
    uint32_t pieces;   ///< of 16 bytes of a pixel
};

/// The tiles for such a convolution, the planner's choice first. None: the device has no matrix
/// units for the type, or the picture is too small for them.
std::vector<WindowTile> window_tiles(const DeviceTraits& device, const MatrixProduct& product,
                                     const Windows& windows);

/// Makes `group` one of the kernel, with its weights [filters, rows, columns, channels].
void set_matrix_window(Planner& planner, Group& group, const MatrixProduct& product,
                       const Windows& windows, const WindowTile& tile, const Tensor& weights);

/// The kernel's name; nullptr: there is none of this type.
const char* window_kernel_of(ElementType type);

}  // namespace arm_runtime::vgf
