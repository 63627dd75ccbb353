// What happens to an accumulator: scaling, zero point, table or clip, store.
#pragma once

#include "accumulators_u85.hpp"
#include "feature_map.hpp"
#include "scaling.hpp"
#include "tables.hpp"

namespace arm_runtime::ethosu {

/// Axes of a result in the order in which it is stored; U85 only.
struct Permutation {
    int axes[3] = {0, 1, 2};  ///< axis i in memory is this one of [height][width][depth]
    int reversed = -1;        ///< axis in memory that is reversed, or -1
    bool is_identity() const { return axes[0] == 0 && axes[1] == 1 && reversed < 0; }
};

struct OutputStage {
    FeatureMap ofm;
    int64_t height = 0, width = 0, depth = 0;
    bool global_scale = false;  ///< OFM_SCALE holds for all channels
    Scale scale;                ///< OFM_SCALE
    Rounding rounding = Rounding::kDoubleSymmetric;
    uint32_t early = 0;  ///< as for `make_scale`
    uint32_t accumulator_bits = 0;
    int64_t minimum = 0, maximum = 0;  ///< of the clip
    Table table;
    Permutation permutation;
    AccumulationU85 accumulation;
    int32_t* rows = nullptr;  ///< for each worker one row
};

/// Reads the registers and takes what memory is needed; `accumulates` is not so for ELEMENTWISE and
/// RESIZE. On U85 all operands have to be read before it, because it makes room for what stays on
/// chip.
bool read_output_stage(Machine& m, bool accumulates, OutputStage& out);
bool read_output_registers_u55(Machine& m, OutputStage& out);
bool read_output_registers_u85(Machine& m, bool accumulates, OutputStage& out);

/// Faults if one of `count` accumulators does not fit the accumulator format.
bool check_accumulators(Machine& m, const OutputStage& out, const int64_t* values, int64_t count);

/// Scales a row [width][depth] in place by OFM_SCALE.
bool scale_row(Machine& m, const OutputStage& out, int64_t* values);

/// Adds the zero point, applies table or clip, stores row `y`.
bool put_row(Machine& m, const OutputStage& out, int64_t y, uint32_t worker, const int64_t* values);

}  // namespace arm_runtime::ethosu
