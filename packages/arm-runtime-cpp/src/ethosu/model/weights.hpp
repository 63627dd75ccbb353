// The weights of a convolution: decoded, and put from the order of the stream into that of the
// taps.
#pragma once

#include "kernel.hpp"

namespace arm_runtime::ethosu {

/// Reads all weights of a convolution to `out`: [ofm_depth][taps_y][taps_x][ifm_depth], or for a
/// depthwise one [taps_y][taps_x][ofm_depth].
bool read_weights(Machine& m, const Window& window, bool depthwise, uint32_t ifm_element,
                  int16_t* out);
bool read_weights_u55(Machine& m, const Window& window, bool depthwise, uint32_t ifm_element,
                      int16_t* out);
bool read_weights_u85(Machine& m, const Window& window, bool depthwise, uint32_t ifm_element,
                      int16_t* out);

/// Channels of the IFM that a sum over them takes at once: nothing in the command stream says so.
/// `sparse`: the weights are, which only those of U85 can be.
int64_t ifm_block_depth(const Machine& m, bool part_kernel, uint32_t ifm_element, bool sparse);
int64_t ofm_ublock_depth_u85(const Machine& m);                ///< or 0, if ACC_FORMAT has none
constexpr uint32_t kFastWeights = 1, kSparseWeights = 1 << 4;  ///< in WEIGHT_FORMAT; U85 only

/// Decodes the stream at `base` to `flat`, `count` weights at least.
bool decode_stream(Machine& m, R32 base, R32 length, bool fast, int64_t count, int16_t* flat);

/// `size` cut into blocks: the sum of `count(block)`.
template <typename F>
int64_t sum_blocks(int64_t size, int64_t block, F&& count) {
    const int64_t rest = size % block;
    return size / block * count(block) + (rest > 0 ? count(rest) : 0);
}

inline int64_t round_up(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace arm_runtime::ethosu
