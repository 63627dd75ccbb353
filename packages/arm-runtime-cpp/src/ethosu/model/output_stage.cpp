#include "output_stage.hpp"

#include "formats.hpp"

namespace arm_runtime::ethosu {

bool read_output_stage(Machine& m, bool accumulates, OutputStage& out) {
    if (!m.need(R16::OFM_HEIGHT_M1, R16::OFM_WIDTH_M1, R16::OFM_DEPTH_M1) ||
        !read_ofm(m, out.ofm)) {
        return false;
    }
    out.height = m.r.size(R16::OFM_HEIGHT_M1);
    out.width = m.r.size(R16::OFM_WIDTH_M1);
    out.depth = m.r.size(R16::OFM_DEPTH_M1);
    const bool read = m.is_u85() ? read_output_registers_u85(m, accumulates, out)
                                 : read_output_registers_u55(m, out);
    if (!read || !m.take(product({out.width, out.depth, m.workers.workers}), out.rows))
        return false;
    m.made.any = out.accumulation.emits && out.ofm.storage == Storage::kRegion;
    if (!out.accumulation.emits) return true;
    const int64_t sizes[] = {out.height, out.width, out.depth};
    const int* axes = out.permutation.axes;
    const int64_t height = sizes[axes[0]], width = sizes[axes[1]], depth = sizes[axes[2]];
    m.made.command_index = m.fault->command_index;
    m.made.placement = static_cast<const Placement&>(out.ofm);
    m.made.blocks = out.permutation.is_identity()
                        ? read_blocks(m, height, width, depth)
                        : Blocks{{height, width, depth}, {height, width, depth}};
    return claim_map(m, out.ofm, height, width, depth, true);
}

bool check_accumulators(Machine& m, const OutputStage& out, const int64_t* values, int64_t count) {
    const int64_t limit = int64_t{1} << (out.accumulator_bits - 1);
    bool fits = true;
    for (int64_t i = 0; i < count; ++i) fits &= values[i] >= -limit && values[i] < limit;
    return fits || m.fail(EthosUFaultCode::kOverflow,
                          "an accumulator does not fit %" PRIu32 " bits", out.accumulator_bits);
}

bool scale_row(Machine& m, const OutputStage& out, int64_t* values) {
    const int64_t count = out.width * out.depth;
    if (out.scale.is_identity()) return true;
    bool fits = true;
    for (int64_t i = 0; i < count; ++i) fits &= out.scale.apply(values[i], values[i]);
    return fits ||
           m.fail(EthosUFaultCode::kOverflow, "a product with OFM_SCALE does not fit 64 bits");
}

namespace {

bool store_permuted(Machine& m, const OutputStage& out, int64_t y, const int32_t* row) {
    const Permutation& p = out.permutation;
    const int64_t sizes[] = {out.height, out.width, out.depth};
    for (int64_t x = 0; x < out.width; ++x) {
        for (int64_t c = 0; c < out.depth; ++c) {
            const int64_t from[] = {y, x, c};
            int64_t to[3];
            for (int i = 0; i < 3; ++i) to[i] = from[p.axes[i]];
            if (p.reversed >= 0) to[p.reversed] = sizes[p.axes[p.reversed]] - 1 - to[p.reversed];
            if (!store_element(m, out.ofm, to[0], to[1], to[2], *row++)) return false;
        }
    }
    return true;
}

}  // namespace

bool put_row(Machine& m, const OutputStage& out, int64_t y, uint32_t worker,
             const int64_t* values) {
    if (out.ofm.element == 8) return store_row(m, out.ofm, y, out.width, out.depth, values);
    const int64_t count = out.width * out.depth, zero_point = out.ofm.zero_point;
    int32_t* row = out.rows + worker * count;
    const int64_t low = out.minimum - zero_point, high = out.maximum - zero_point;
    for (int64_t i = 0; i < count;
         ++i) {  // clips first: a value near the end of 64 bits has no room for a zero point
        const int64_t value = values[i] < low ? low : values[i] > high ? high : values[i];
        row[i] = static_cast<int32_t>(value + zero_point);
    }
    if (out.table.kind != TableKind::kNone) look_up(out.table, row, count);
    if (count == 1 && out.height == 1)
        m.result = row[0] != 0 ? Machine::Flag::kTrue : Machine::Flag::kFalse;
    if (!out.permutation.is_identity()) return store_permuted(m, out, y, row);
    return store_row(m, out.ofm, y, out.width, out.depth, row);
}

}  // namespace arm_runtime::ethosu
