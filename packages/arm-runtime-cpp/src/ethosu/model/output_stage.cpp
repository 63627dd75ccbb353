#include "output_stage.hpp"

#include <cinttypes>

#include "tables.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kFirstTable = 16, kTables = 8;

bool read_activation(Machine& m, OutputStage& out) {
    if (!m.need(R16::ACTIVATION, R16::ACTIVATION_MIN, R16::ACTIVATION_MAX)) return false;
    const uint32_t activation = m.r[R16::ACTIVATION], function = activation & 31,
                   clip_type = activation >> 12 & 7;
    const bool is_unsigned = !out.ofm.is_signed && out.ofm.element <= 2 && clip_type == 0;
    out.minimum = is_unsigned ? m.r[R16::ACTIVATION_MIN] : m.r.signed16(R16::ACTIVATION_MIN);
    out.maximum = is_unsigned ? m.r[R16::ACTIVATION_MAX] : m.r.signed16(R16::ACTIVATION_MAX);
    if (function >= kFirstTable && function < kFirstTable + kTables) {
        return find_table(m, function - kFirstTable, out.ofm.element, out.table_base);
    }
    if (function != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "activation function %u", unsigned{function});
    if (out.ofm.element == 4) {
        out.minimum = INT32_MIN;
        out.maximum = INT32_MAX;
    }
    return true;
}

}  // namespace

bool read_output_stage(Machine& m, OutputStage& out) {
    if (!m.need(R16::OFM_WIDTH_M1, R16::OFM_DEPTH_M1, R16::ACC_FORMAT) || !read_ofm(m, out.ofm))
        return false;
    out.width = m.r.size(R16::OFM_WIDTH_M1);
    out.depth = m.r.size(R16::OFM_DEPTH_M1);
    const uint32_t precision = m.r[R16::OFM_PRECISION], rounding = precision >> 14 & 3,
                   format = m.r[R16::ACC_FORMAT];
    if (rounding > 2)
        return m.fail(EthosUFaultCode::kRegister, "OFM_PRECISION has no rounding mode %u",
                      unsigned{rounding});
    if (format > 1)
        return m.fail(EthosUFaultCode::kUnmodelled, "accumulator format %u", unsigned{format});
    out.rounding = static_cast<Rounding>(rounding);
    out.global_scale = (precision >> 8 & 1) != 0;
    if (out.global_scale && !m.need(R32::OFM_SCALE)) return false;
    out.scale = m.r[R32::OFM_SCALE];
    out.shift = m.r.parameter(R32::OFM_SCALE) & 63;
    out.accumulator_bits = format == 0 ? 32 : 40;
    return read_activation(m, out) &&
           m.take(product({out.width, out.depth, m.workers.workers}), out.rows);
}

bool read_channel_scales(Machine& m, const OutputStage& out, int64_t depth, ChannelScales& scales) {
    constexpr int64_t kRecord = 10;
    if (!m.need(R16::SCALE_REGION, R32::SCALE_BASE, R32::SCALE_LENGTH) ||
        !m.take(depth, scales.bias) || !m.take(depth, scales.scale) ||
        !m.take(depth, scales.shift)) {
        return false;
    }
    if (m.planning) return true;
    const int64_t cores = depth == 1 ? 1 : m.cores;
    for (int64_t core = 0; core < cores; ++core) {
        const R32 base = core == 0 ? R32::SCALE_BASE : R32::SCALE1_BASE;
        const R32 length = core == 0 ? R32::SCALE_LENGTH : R32::SCALE1_LENGTH;
        if (!m.need(base, length)) return false;
        const int64_t bytes = (depth - core + cores - 1) / cores * kRecord;
        if (bytes > m.r.address(length)) {
            return m.fail(EthosUFaultCode::kWeights,
                          "scale records: %" PRId64 " bytes for %" PRId64 " channels",
                          m.r.address(length), depth);
        }
        const uint8_t* record =
            m.readable(m.r[R16::SCALE_REGION], m.r.address(base), bytes, "scale records");
        if (record == nullptr) return false;
        for (int64_t channel = core; channel < depth; channel += cores, record += kRecord) {
            uint64_t bias = 0;
            for (int i = 0; i < 5; ++i) bias |= uint64_t{record[i]} << (8 * i);
            scales.bias[channel] = static_cast<int64_t>(bias << 24) >> 24;  // 40 bits, signed
            scales.shift[channel] =
                static_cast<uint8_t>(out.global_scale ? out.shift : record[9] & 63);
            if (out.global_scale) {
                scales.scale[channel] = static_cast<uint32_t>(out.scale);
                continue;
            }
            scales.scale[channel] = record[5] | uint32_t{record[6]} << 8 |
                                    uint32_t{record[7]} << 16 | uint32_t{record[8]} << 24;
        }
    }
    return true;
}

bool check_accumulators(Machine& m, const OutputStage& out, const int64_t* values, int64_t count) {
    const int64_t limit = int64_t{1} << (out.accumulator_bits - 1);
    bool fits = true;
    for (int64_t i = 0; i < count; ++i) fits = fits && values[i] >= -limit && values[i] < limit;
    return fits || m.fail(EthosUFaultCode::kOverflow,
                          "an accumulator does not fit %" PRIu32 " bits", out.accumulator_bits);
}

bool scale_row(Machine& m, const OutputStage& out, int64_t* values) {
    const int64_t count = out.width * out.depth;
    if (out.scale == 1 && out.shift == 0) return true;
    bool fits = true;
    for (int64_t i = 0; i < count; ++i)
        fits &= scale_value(values[i], out.scale, out.shift, out.rounding, values[i]);
    return fits ||
           m.fail(EthosUFaultCode::kOverflow, "a product with OFM_SCALE does not fit 64 bits");
}

bool scale_row(Machine& m, const OutputStage& out, const ChannelScales& scales, int64_t* values) {
    bool fits = true;
    for (int64_t x = 0; x < out.width; ++x) {
        int64_t* pixel = values + x * out.depth;
        for (int64_t c = 0; c < out.depth; ++c) pixel[c] += scales.bias[c];
        if (!check_accumulators(m, out, pixel, out.depth)) return false;
        for (int64_t c = 0; c < out.depth; ++c) {
            fits &= scale_value(pixel[c], scales.scale[c], scales.shift[c], out.rounding, pixel[c]);
        }
    }
    return fits || m.fail(EthosUFaultCode::kOverflow,
                          "a product with a channel's scale does not fit 64 bits");
}

bool put_row(Machine& m, const OutputStage& out, int64_t y, uint32_t worker,
             const int64_t* values) {
    const int64_t count = out.width * out.depth, zero_point = out.ofm.zero_point;
    int32_t* row = out.rows + worker * count;
    const int64_t low = out.minimum - zero_point, high = out.maximum - zero_point;
    for (int64_t i = 0; i < count;
         ++i) {  // clips first: a value near the end of 64 bits has no room for a zero point
        const int64_t value = values[i] < low ? low : values[i] > high ? high : values[i];
        row[i] = static_cast<int32_t>(value + zero_point);
    }
    if (out.table_base >= 0)
        look_up(m.shram + out.table_base, out.ofm.element, out.ofm.is_signed, row, count);
    return store_row(m, out.ofm, y, out.width, out.depth, row);
}

}  // namespace arm_runtime::ethosu
