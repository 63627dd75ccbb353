// Convolutions of float32 of large pictures: kernels/window_fp32.comp.
#pragma once

#include <optional>

#include "matrix_window.hpp"

namespace arm_runtime::vgf {

/// What a workgroup computes: WINDOW_WIDTH pixels across.
struct Fp32Tile {
    uint32_t rows;   ///< of pixels, of a thread
    uint32_t quads;  ///< fours of filters, of as many threads
    uint32_t bands;  ///< of threads, which have other rows
};

/// None: of another type, too small a picture, or windows that a workgroup has no memory for.
std::optional<Fp32Tile> fp32_tile(const DeviceTraits& device, const MatrixProduct& product,
                                  const Windows& windows);

/// Makes `group` one of the kernel, with its weights [filters, rows, columns, channels]; false, and
/// nothing is set, where there is no tile.
bool set_window_fp32(Planner& planner, Group& group, const MatrixProduct& product,
                     const Windows& windows, const Tensor& weights);

}  // namespace arm_runtime::vgf
