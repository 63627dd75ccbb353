// The output stage of Ethos-U85: more tables and roundings, transposed and reversed results, and
// results that stay on chip.

#include "formats.hpp"
#include "output_stage.hpp"

namespace arm_runtime::ethosu {
namespace {

bool read_activation(Machine& m, OutputStage& out) {
    if (!m.need(R16::ACTIVATION)) return false;
    const uint32_t activation = m.r[R16::ACTIVATION], function = activation & 31,
                   number = activation >> 5 & 7;
    const uint32_t bits = 8 * out.ofm.element;
    if (bits == 64) {  // accumulators for a later operation
        if (function != 0 || (activation >> 12 & 1) == 0 || out.ofm.zero_point != 0 ||
            out.ofm.storage != Storage::kRegion) {
            return m.fail(EthosUFaultCode::kUnmodelled,
                          "64-bit results with an activation or a zero point, or on chip");
        }
        return true;
    }
    const bool clips = (activation >> 12 & 1) == 0, is_signed = out.ofm.is_signed;
    const int64_t type_minimum = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t type_maximum = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    out.minimum = type_minimum;
    out.maximum = type_maximum > INT32_MAX ? INT32_MAX : type_maximum;
    if (clips) {
        if (!m.need(R16::ACTIVATION_MIN, R16::ACTIVATION_MAX)) return false;
        int64_t low = m.r.signed16(R16::ACTIVATION_MIN), high = m.r.signed16(R16::ACTIVATION_MAX);
        if (high < low) {  // they are unsigned
            low &= 0xFFFF;
            high &= 0xFFFF;
        }
        if (function != 0 || low > out.minimum) out.minimum = low;
        if (function != 0 || high < out.maximum) out.maximum = high;
    }
    auto kind = TableKind::kNone;
    switch (function) {
        case 0:
            return true;
        case 1:
            kind = TableKind::kU8ToU8;
            break;
        case 4:
            kind = TableKind::kS8ToS8;
            break;
        case 5:
            kind = TableKind::kS8ToS16;
            break;
        case 7:
            kind = TableKind::kS8ToS32;
            break;
        case 8:
            kind = TableKind::kS16ToS16;
            break;
        case 9:
            kind = TableKind::kS16ToS32;
            break;
        default:
            return m.fail(EthosUFaultCode::kUnmodelled, "activation function %" PRIu32, function);
    }
    if (!clips) {
        out.minimum = INT32_MIN;
        out.maximum = INT32_MAX;
    }
    return find_table(m, kind, number, out.table);
}

bool read_permutation(Machine& m, uint32_t code, uint32_t reverse, Permutation& p) {
    constexpr int kAxes[8][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0},
                                 {},        {},        {2, 0, 1}, {2, 1, 0}};
    if (code == 4 || code == 5)
        return m.fail(EthosUFaultCode::kRegister, "OFM_PRECISION has no transposition %" PRIu32,
                      code);
    for (int i = 0; i < 3; ++i) p.axes[i] = kAxes[code][i];
    p.reversed = static_cast<int>(reverse) - 1;
    return true;
}

bool read_scale(Machine& m, OutputStage& out) {
    if (!m.need(R32::OFM_SCALE)) return false;
    const uint32_t parameter = m.r.parameter(R32::OFM_SCALE), rounding = parameter >> 13 & 7;
    out.early = parameter >> 6 & 31;
    if (rounding >= kRoundings || out.early > 30)
        return m.fail(EthosUFaultCode::kRegister, "OFM_SCALE has no rounding mode %" PRIu32,
                      rounding);
    out.rounding = static_cast<Rounding>(rounding);
    out.scale =
        make_scale(m.r[R32::OFM_SCALE] & INT32_MAX, parameter & 63, out.rounding, out.early);
    return true;
}

}  // namespace

bool read_output_registers_u85(Machine& m, bool accumulates, OutputStage& out) {
    const uint32_t precision = m.r[R16::OFM_PRECISION];
    out.global_scale = (precision >> 8 & 1) != 0;
    out.accumulator_bits = 64;
    if (accumulates) {
        if (!m.need(R16::ACC_FORMAT)) return false;
        const uint32_t format = m.r[R16::ACC_FORMAT] & 3;
        if (format > 1)
            return m.fail(EthosUFaultCode::kUnmodelled, "accumulator format %" PRIu32, format);
        out.accumulator_bits = format == 0 ? 32 : 48;
        if (!read_accumulation_u85(m, out.height, out.width, out.depth, out.accumulation))
            return false;
    }
    if (!read_scale(m, out) || !read_activation(m, out) ||
        !read_permutation(m, precision >> 11 & 7, precision >> 9 & 3, out.permutation)) {
        return false;
    }
    if (!out.accumulation.emits) return true;
    if (out.ofm.element == 8 && !out.permutation.is_identity())
        return m.fail(EthosUFaultCode::kUnmodelled, "64-bit results that are transposed");
    if (out.ofm.storage == Storage::kRegion) {
        m.release_chain();
        return true;
    }
    if (!out.permutation.is_identity())
        return m.fail(EthosUFaultCode::kUnmodelled, "a chained result that is transposed");
    if (out.ofm.storage == Storage::kNone) return true;
    if (!m.allocate_chain(out.height, out.width, out.depth, out.ofm.chain)) return false;
    m.chains[out.ofm.region] = out.ofm.chain;
    m.chained = true;
    return true;
}

}  // namespace arm_runtime::ethosu
