// Biases and scales of a convolution, one record for each output channel.
#pragma once

#include "output_stage.hpp"

namespace arm_runtime::ethosu {

struct ChannelScales {
    int64_t* bias = nullptr;
    Scale* scale = nullptr;
};

/// Reads the records of all output channels; with two cores, each has a stream of its own and
/// channels are dealt out in turn. A global scale replaces theirs, on U85 also the biases.
bool read_channel_scales(Machine& m, const OutputStage& out, ChannelScales& scales);

/// Adds biases and scales a row in place by the channels' scales, having checked the accumulators.
bool scale_row(Machine& m, const OutputStage& out, const ChannelScales& scales, int64_t* values);

}  // namespace arm_runtime::ethosu
