// The geometry of an operation with a window: kernel, stride, padding, and the part of the IFM that
// it reads.
#pragma once

#include "feature_map.hpp"

namespace arm_runtime::ethosu {

struct Kernel {
    int64_t height = 1, width = 1;   ///< in elements, after dilation
    int64_t taps_y = 1, taps_x = 1;  ///< weights
    int64_t stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
    bool part_kernel = false;  ///< weights are in part-kernel-first order
};

enum class Upscale : uint16_t { kNone = 0, kNearest = 1, kZeros = 2 };

struct Window {
    Kernel kernel;
    int64_t ofm_height = 0, ofm_width = 0, ofm_depth = 0, ifm_depth = 0;
    int64_t pad_top = 0, pad_left = 0;
    bool padded = false;                    ///< on any side
    int64_t height = 0, width = 0;          ///< the IFM, upscaled, with its padding
    int64_t rows = 0, columns = 0;          ///< the IFM, upscaled
    int64_t ifm_height = 0, ifm_width = 0;  ///< the IFM in memory
    Upscale upscale = Upscale::kNone;
    int64_t ifm_block = 0;  ///< channels that a job reads, of a sum over them; 0: those it writes

    /// One element at a time.
    bool is_point() const {
        return kernel.height * kernel.width * kernel.stride_y * kernel.stride_x == 1;
    }
};

/// Reads the geometry out of the registers.
bool read_window(Machine& m, Window& window);

/// Reads the IFM into `out`, [height][width][ifm_depth], with `fill` where there is padding. The
/// zero point is subtracted if `minus_zero_point`. T is int16_t (for 8-bit maps, and 16-bit ones
/// without zero point) or int32_t.
template <typename T>
bool load_window(Machine& m, const Window& window, const FeatureMap& ifm, bool minus_zero_point,
                 T fill, T* out);

}  // namespace arm_runtime::ethosu
