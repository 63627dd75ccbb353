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

/// `region` is the number of the chaining buffer where it is chained.
struct FeatureMap : Placement {
    const char* name = "";
    Storage storage = Storage::kRegion;
    Volume<int32_t> chain;
    int32_t scalar = 0;
    bool is_signed = true;
    int64_t zero_point = 0;
};

bool read_ifm(Machine& m, FeatureMap& map);
bool read_ifm2(Machine& m, FeatureMap& map);
bool read_ofm(Machine& m, FeatureMap& map);

/// Notes for the hazards that an operation reads or writes [height][width][depth] of a map.
bool claim_map(Machine& m, const FeatureMap& map, int64_t height, int64_t width, int64_t depth,
               bool write);

bool fail_blocks(Machine& m, const FeatureMap& map, int64_t job, int64_t from_end);

/// The blocks of a result of this size; all of it is one where OFM_BLK registers are not set.
Blocks read_blocks(const Machine& m, int64_t height, int64_t width, int64_t depth);

/// Faults if BLOCKDEP lets the kernel read bytes of a map that the kernel before may not have
/// written yet. A block of the result takes `parts` jobs, which read `reads(block, part)`.
template <typename F>
bool check_blocks(Machine& m, const FeatureMap& map, const Blocks& blocks, int64_t parts,
                  F&& reads) {
    const int64_t unfinished = m.r[R16::BLOCKDEP];
    if (m.planning || unfinished == 0 || !m.before.any || map.storage != Storage::kRegion)
        return true;
    const int64_t jobs = blocks.count() * parts, jobs_before = m.before.blocks.count();
    for (int64_t i = 0; i < jobs && i < unfinished; ++i) {
        const Box read = reads(blocks.at(i / parts), i % parts);
        for (int64_t j = 0; j < jobs_before && i + j < unfinished; ++j) {
            if (overlap(map, read, m.before.placement, m.before.blocks.at(jobs_before - 1 - j)))
                return fail_blocks(m, map, i, j);
        }
    }
    return true;
}

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
