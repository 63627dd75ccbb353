// Accumulators of Ethos-U85 that begin with what an earlier operation left in them, or with IFM2.
#pragma once

#include "feature_map.hpp"

namespace arm_runtime::ethosu {

struct AccumulationU85 {
    enum class Start : uint8_t { kZero, kKept, kIfm2 };
    enum class Combine : uint8_t { kSum, kMax, kMin };
    Start start = Start::kZero;
    bool emits = true;  ///< the accumulators go to the output stage; else they are kept
    FeatureMap ifm2;
    Volume<int64_t> kept;
    int64_t* rows = nullptr;  ///< of IFM2, for each worker
    int64_t height = 0, width = 0, depth = 0;
};

/// Reads the registers for accumulators of an OFM of this size.
bool read_accumulation_u85(Machine& m, int64_t height, int64_t width, int64_t depth,
                           AccumulationU85& a);

/// Combines row `y` of what was there before with `row` [width][depth], and keeps the results
/// unless they are emitted.
bool accumulate_row_u85(Machine& m, const AccumulationU85& a, AccumulationU85::Combine combine,
                        int64_t y, uint32_t worker, int64_t* row);

}  // namespace arm_runtime::ethosu
