// What happens to an accumulator: scaling, zero point, table or clip, store.
#pragma once

#include "feature_map.hpp"
#include "scaling.hpp"

namespace arm_runtime::ethosu {

/// Scale records, one per output channel.
struct ChannelScales {
    int64_t* bias = nullptr;
    uint32_t* scale = nullptr;
    uint8_t* shift = nullptr;
};

struct OutputStage {
    FeatureMap ofm;
    int64_t width, depth;
    Rounding rounding;
    bool global_scale;  ///< OFM_SCALE holds for all channels
    int64_t scale;
    uint32_t shift;
    uint32_t accumulator_bits;
    int64_t minimum, maximum;  ///< of the clip
    int table_base = -1;       ///< address of the table in on-chip memory, or -1
    int32_t* rows = nullptr;   ///< for each worker one row
};

/// Reads the registers and takes what memory is needed.
bool read_output_stage(Machine& m, OutputStage& out);

/// Reads the scale records of all output channels: one stream for each core, channels dealt out in
/// turn. A global scale replaces theirs.
bool read_channel_scales(Machine& m, const OutputStage& out, int64_t depth, ChannelScales& scales);

/// Faults if one of `count` accumulators does not fit the accumulator format.
bool check_accumulators(Machine& m, const OutputStage& out, const int64_t* values, int64_t count);

/// Scales a row [width][depth] in place by OFM_SCALE.
bool scale_row(Machine& m, const OutputStage& out, int64_t* values);
/// Adds biases and scales a row in place by the channels' scales, having checked the accumulators.
bool scale_row(Machine& m, const OutputStage& out, const ChannelScales& scales, int64_t* values);

/// Adds the zero point, applies table or clip, stores row `y`.
bool put_row(Machine& m, const OutputStage& out, int64_t y, uint32_t worker, const int64_t* values);

}  // namespace arm_runtime::ethosu
