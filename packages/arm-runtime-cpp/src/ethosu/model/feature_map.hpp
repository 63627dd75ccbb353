// Feature maps in memory: NHWC or bricks of 16 channels (NHCWB16), four tiles, strides of either
// sign.
#pragma once

#include "machine.hpp"

namespace arm_runtime::ethosu {

/// Where a map is. All but kRegion exist on U85 only.
enum class Storage : uint8_t {
    kRegion,
    kChained,  ///< in a chaining buffer
    kNone,     ///< nowhere: an operand is the scalar, a result is dropped
};

struct FeatureMap {
    const char* name = "";
    Storage storage = Storage::kRegion;
    uint32_t region = 0;  ///< or the number of the chaining buffer
    Volume<int32_t> chain;
    int32_t scalar = 0;
    int64_t base[4] = {};
    int64_t height0 = 0, height1 = 0, width0 = 0;  ///< of tile 0, tile 1, and both left tiles
    int64_t stride_y = 0, stride_x = 0, stride_c = 0;
    uint32_t element = 1;  ///< bytes: 1, 2 or 4, or 8 for the accumulators of U85
    bool is_signed = true, bricks = false;
    int64_t zero_point = 0;
};

bool read_ifm(Machine& m, FeatureMap& map);
bool read_ifm2(Machine& m, FeatureMap& map);
bool read_ofm(Machine& m, FeatureMap& map);

/// Notes for the hazards that an operation reads or writes [height][width][depth] of a map.
bool claim_map(Machine& m, const FeatureMap& map, int64_t height, int64_t width, int64_t depth,
               bool write);

/// Reads columns [0, width) of row `y`, `depth` channels each, to `out` [width][depth], minus
/// `zero_point`. T is int16_t, int32_t or int64_t, and differences wrap. Faults where T is
/// narrower than the elements.
template <typename T>
bool load_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
              int64_t zero_point, T* out);

/// Writes the low bits of `in` [width][depth] to row `y`; the second one to elements of 8 bytes of
/// a region.
bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int32_t* in);
bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int64_t* in);

/// Writes the low bits of one element of a map in a region.
bool store_element(Machine& m, const FeatureMap& map, int64_t y, int64_t x, int64_t c,
                   int32_t value);

}  // namespace arm_runtime::ethosu
