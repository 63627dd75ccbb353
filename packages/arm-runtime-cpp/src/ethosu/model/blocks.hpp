// The blocks in which kernels work, and where they lie in memory: what BLOCKDEP is judged by.
//
// A kernel is cut into jobs, which the hardware runs one after the other: a job computes a block of
// the result, or of a sum over many channels a part of it. BLOCKDEP says how many jobs may be
// unfinished when a job of the next kernel begins. As Vela counts them, a block of the kernel
// before is one job. Vela's calc_blockdep (register_command_stream_util.py) is the source.
#pragma once

#include <cstdint>

namespace arm_runtime::ethosu {

inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

/// Where the elements of a map are: in bricks of 16 channels or not, in four tiles.
struct Placement {
    uint32_t region = 0;
    int64_t base[4] = {};
    int64_t height0 = 0, height1 = 0, width0 = 0;  ///< of tile 0, tile 1, and both left tiles
    int64_t stride_y = 0, stride_x = 0, stride_c = 0;
    uint32_t element = 1;  ///< bytes: 1, 2 or 4, or 8 for the accumulators of U85
    bool bricks = false;
};
constexpr int64_t kBrick = 16;

/// A part of a map, from one position to before another; axes are height, width, depth.
struct Box {
    int64_t from[3], to[3];
};

/// Whether two parts have bytes in common. It says yes without looking where they are too large to
/// be compared row by row.
bool overlap(const Placement& a, const Box& in_a, const Placement& b, const Box& in_b);

/// A result, cut into blocks: depth changes fastest, then width.
struct Blocks {
    int64_t size[3] = {}, block[3] = {1, 1, 1};

    int64_t count() const { return along(0) * along(1) * along(2); }
    Box at(int64_t i) const;

  private:
    int64_t along(int axis) const { return (size[axis] + block[axis] - 1) / block[axis]; }
};

/// What a kernel writes to a region, if it does.
struct Written {
    bool any = false;
    uint32_t command_index = 0;
    Placement placement;
    Blocks blocks;
};

/// Calls `run(address, first column, columns)` for the parts of a row that lie in one tile.
template <typename F>
bool for_tiles(const Placement& map, int64_t y, int64_t width, F&& run) {
    const int64_t left = width < map.width0 ? width : map.width0;
    const bool below_left = y >= map.height0, below_right = y >= map.height1;
    const int64_t left_base =
        map.base[below_left ? 2 : 0] + (below_left ? y - map.height0 : y) * map.stride_y;
    if (!run(left_base, int64_t{0}, left)) return false;
    if (left == width) return true;
    const int64_t right_base =
        map.base[below_right ? 3 : 1] + (below_right ? y - map.height1 : y) * map.stride_y;
    return run(right_base, left, width - left);
}

}  // namespace arm_runtime::ethosu
