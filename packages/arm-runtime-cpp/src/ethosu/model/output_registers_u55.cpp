// The output stage of Ethos-U55 and Ethos-U65.
#include "output_stage.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr Rounding kRoundingModes[] = {Rounding::kDoubleSymmetric, Rounding::kTowardsZero,
                                       Rounding::kNatural};

bool read_activation(Machine& m, OutputStage& out) {
    constexpr uint32_t kFirstTable = 16, kTables = 8;
    if (!m.need(R16::ACTIVATION, R16::ACTIVATION_MIN, R16::ACTIVATION_MAX)) return false;
    const uint32_t activation = m.r[R16::ACTIVATION], function = activation & 31,
                   clip_type = activation >> 12 & 7, element = out.ofm.element;
    const bool is_unsigned = !out.ofm.is_signed && element <= 2 && clip_type == 0;
    out.minimum = is_unsigned ? m.r[R16::ACTIVATION_MIN] : m.r.signed16(R16::ACTIVATION_MIN);
    out.maximum = is_unsigned ? m.r[R16::ACTIVATION_MAX] : m.r.signed16(R16::ACTIVATION_MAX);
    if (function >= kFirstTable && function < kFirstTable + kTables) {
        const TableKind kind = element == 4        ? TableKind::kS8ToS32
                               : element == 2      ? TableKind::kS16ToS16
                               : out.ofm.is_signed ? TableKind::kS8ToS8
                                                   : TableKind::kU8ToU8;
        return find_table(m, kind, function - kFirstTable, out.table);
    }
    if (function != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "activation function %u", unsigned{function});
    if (element == 4) {
        out.minimum = INT32_MIN;
        out.maximum = INT32_MAX;
    }
    return true;
}

}  // namespace

bool read_output_registers_u55(Machine& m, OutputStage& out) {
    if (!m.need(R16::ACC_FORMAT)) return false;
    const uint32_t precision = m.r[R16::OFM_PRECISION], rounding = precision >> 14 & 3,
                   format = m.r[R16::ACC_FORMAT];
    if (rounding > 2)
        return m.fail(EthosUFaultCode::kRegister, "OFM_PRECISION has no rounding mode %u",
                      unsigned{rounding});
    if (format > 1)
        return m.fail(EthosUFaultCode::kUnmodelled, "accumulator format %u", unsigned{format});
    out.rounding = kRoundingModes[rounding];
    out.global_scale = (precision >> 8 & 1) != 0;
    if (out.global_scale && !m.need(R32::OFM_SCALE)) return false;
    out.scale = make_scale(m.r[R32::OFM_SCALE], m.r.parameter(R32::OFM_SCALE) & 63, out.rounding);
    out.accumulator_bits = format == 0 ? 32 : 40;
    return read_activation(m, out);
}

}  // namespace arm_runtime::ethosu
