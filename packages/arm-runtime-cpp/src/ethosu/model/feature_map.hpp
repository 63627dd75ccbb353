// Feature maps in memory: NHWC or bricks of 16 channels (NHCWB16), four tiles, strides of either
// sign.
#pragma once

#include "machine.hpp"

namespace arm_runtime::ethosu {

struct FeatureMap {
    const char* name;
    uint32_t region;
    int64_t base[4];
    int64_t height0, height1, width0;  ///< of tile 0, tile 1, and both left tiles
    int64_t stride_y, stride_x, stride_c;
    uint32_t element;  ///< bytes: 1, 2 or 4
    bool is_signed, bricks;
    int64_t zero_point;
};

bool read_ifm(Machine& m, FeatureMap& map);
bool read_ifm2(Machine& m, FeatureMap& map);
bool read_ofm(Machine& m, FeatureMap& map);

/// Reads columns [0, width) of row `y`, `depth` channels each, to `out` [width][depth], minus
/// `zero_point`. T is int16_t or int32_t and holds every such value but for int32_t, where
/// differences wrap.
template <typename T>
bool load_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
              int64_t zero_point, T* out);

/// Writes the low bits of `in` [width][depth] to row `y`.
bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int32_t* in);

}  // namespace arm_runtime::ethosu
