#include "accumulators_u85.hpp"

#include "formats.hpp"

namespace arm_runtime::ethosu {

bool read_accumulation_u85(Machine& m, int64_t height, int64_t width, int64_t depth,
                           AccumulationU85& a) {
    const uint32_t format = m.r[R16::ACC_FORMAT], start = format >> 4 & 3;
    if (start > 2)
        return m.fail(EthosUFaultCode::kRegister, "ACC_FORMAT has no input %" PRIu32, start);
    a.start = static_cast<AccumulationU85::Start>(start);
    a.emits = (format >> 6 & 1) == 0;
    a.height = height;
    a.width = width;
    a.depth = depth;
    if (a.start == AccumulationU85::Start::kIfm2 &&
        (!read_ifm2(m, a.ifm2) || !claim_map(m, a.ifm2, height, width, depth, false) ||
         !check_blocks(m, a.ifm2, read_blocks(m, height, width, depth), 1,
                       [](const Box& block, int64_t) { return block; }))) {
        return false;
    }
    if (a.start == AccumulationU85::Start::kKept) {
        a.kept = m.accumulators;
        if (!a.kept.is(height, width, depth))
            return m.fail(EthosUFaultCode::kRegister,
                          "the accumulators that were kept are of %" PRId64 "x%" PRId64 "x%" PRId64
                          " elements, not of %" PRId64 "x%" PRId64 "x%" PRId64,
                          a.kept.height, a.kept.width, a.kept.depth, height, width, depth);
    }
    if (!a.emits && a.start != AccumulationU85::Start::kKept) {
        if (!m.allocate_chain(height, width, depth, a.kept)) return false;
        m.accumulators = a.kept;
    }
    return a.start != AccumulationU85::Start::kIfm2 ||
           m.take(product({width, depth, m.workers.workers}), a.rows);
}

bool accumulate_row_u85(Machine& m, const AccumulationU85& a, AccumulationU85::Combine combine,
                        int64_t y, uint32_t worker, int64_t* row) {
    using Combine = AccumulationU85::Combine;
    using Start = AccumulationU85::Start;
    const int64_t count = a.width * a.depth;
    int64_t* kept = a.kept.data == nullptr ? nullptr : a.kept.data + y * count;
    const int64_t* before = kept;
    if (a.start == Start::kIfm2) {
        int64_t* from = a.rows + worker * count;
        if (!load_row(m, a.ifm2, y, a.width, a.depth, a.ifm2.zero_point, from)) return false;
        before = from;
    }
    // read_accumulation_u85 has seen to it that `kept` is there unless this operation both begins
    // at 0 and emits.
    // NOLINTBEGIN(clang-analyzer-core.NullDereference)
    if (a.start != Start::kZero && combine == Combine::kSum) {
        for (int64_t i = 0; i < count; ++i) row[i] += before[i];
    } else if (a.start != Start::kZero) {
        const bool maximum = combine == Combine::kMax;
        for (int64_t i = 0; i < count; ++i)
            row[i] = (before[i] > row[i]) == maximum ? before[i] : row[i];
    }
    if (!a.emits) {
        for (int64_t i = 0; i < count; ++i) kept[i] = row[i];
    }
    // NOLINTEND(clang-analyzer-core.NullDereference)
    return true;
}

}  // namespace arm_runtime::ethosu
