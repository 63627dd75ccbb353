// The weights of a convolution: decoded, and put from the order of the stream into that of the
// taps.
#pragma once

#include "kernel.hpp"

namespace arm_runtime::ethosu {

/// Reads all weights of a convolution to `out`: [ofm_depth][taps_y][taps_x][ifm_depth], or for a
/// depthwise one [taps_y][taps_x][ofm_depth].
bool read_weights(Machine& m, const Window& window, bool depthwise, uint32_t ifm_element,
                  int16_t* out);

}  // namespace arm_runtime::ethosu
