#include "channel_scales.hpp"

#include "formats.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kRecord = 10;  // bytes

/// Where the fields of a record are, in bytes; the shift is 6 bits.
struct Layout {
    uint32_t bias, scale, shift_at;
    uint32_t scale_bits;
};

Layout layout(const Machine& m, const OutputStage& out) {
    if (!m.is_u85()) return {5, 4, 9, 32};
    return out.accumulator_bits == 48 ? Layout{6, 2, 8, 15} : Layout{4, 4, 8, 31};
}

uint64_t little_endian(const uint8_t* bytes, uint32_t count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << (8 * i);
    return value;
}

}  // namespace

bool read_channel_scales(Machine& m, const OutputStage& out, ChannelScales& scales) {
    const int64_t depth = out.depth;
    if (!m.take(depth, scales.bias) || !m.take(depth, scales.scale)) return false;
    if (m.is_u85() && out.global_scale) {
        for (int64_t c = 0; c < depth && !m.planning; ++c) {
            scales.bias[c] = 0;
            scales.scale[c] = out.scale;
        }
        return true;
    }
    if (!m.need(R16::SCALE_REGION, R32::SCALE_BASE, R32::SCALE_LENGTH)) return false;
    if (m.planning) return true;
    const Layout fields = layout(m, out);
    const uint64_t scale_mask = (uint64_t{1} << fields.scale_bits) - 1;
    const int64_t cores = m.is_u85() || depth == 1 ? 1 : m.accelerator->weight_streams;
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
        if (record == nullptr || !m.check_access(m.r[R16::SCALE_REGION], m.r.address(base), bytes,
                                                 false, "scale records")) {
            return false;
        }
        const uint32_t unused = 64 - 8 * fields.bias;
        for (int64_t channel = core; channel < depth; channel += cores, record += kRecord) {
            const uint64_t bias = little_endian(record, fields.bias);
            const uint64_t factor = little_endian(record + fields.bias, fields.scale) & scale_mask;
            scales.bias[channel] = static_cast<int64_t>(bias << unused) >> unused;
            scales.scale[channel] = out.global_scale ? out.scale
                                                     : make_scale(static_cast<int64_t>(factor),
                                                                  record[fields.shift_at] & 63,
                                                                  out.rounding, out.early);
        }
    }
    return true;
}

bool scale_row(Machine& m, const OutputStage& out, const ChannelScales& scales, int64_t* values) {
    bool fits = true;
    for (int64_t x = 0; x < out.width; ++x) {
        int64_t* pixel = values + x * out.depth;
        for (int64_t c = 0; c < out.depth; ++c) pixel[c] += scales.bias[c];
        if (!check_accumulators(m, out, pixel, out.depth)) return false;
        for (int64_t c = 0; c < out.depth; ++c) fits &= scales.scale[c].apply(pixel[c], pixel[c]);
    }
    return fits || m.fail(EthosUFaultCode::kOverflow,
                          "a product with a channel's scale does not fit 64 bits");
}

}  // namespace arm_runtime::ethosu
