// ELEMENTWISE on Ethos-U85: more functions, scales for both operands, and either may be broadcast
// or a scalar.

#include "elementwise.hpp"
#include "formats.hpp"

namespace arm_runtime::ethosu {
namespace {

using Mode = ElementwiseMode;

bool exists(uint32_t mode) {
    return mode <= static_cast<uint32_t>(Mode::kDiv) ||
           (mode >= static_cast<uint32_t>(Mode::kEqual) &&
            mode <= static_cast<uint32_t>(Mode::kGreater)) ||
           (mode >= static_cast<uint32_t>(Mode::kAnd) &&
            mode <= static_cast<uint32_t>(Mode::kNot)) ||
           mode == static_cast<uint32_t>(Mode::kAndNot);
}

bool is_unary(Mode mode) {
    return mode == Mode::kLrelu || mode == Mode::kAbs || mode == Mode::kClz || mode == Mode::kNot;
}

/// Scales in the operands' registers apply to arithmetic and comparisons.
bool scales_operands(Mode mode) {
    switch (mode) {
        case Mode::kAdd:
        case Mode::kSub:
        case Mode::kMin:
        case Mode::kMax:
        case Mode::kLrelu:
        case Mode::kAbs:
        case Mode::kClz:
        case Mode::kEqual:
        case Mode::kNotEqual:
        case Mode::kGreaterEqual:
        case Mode::kGreater:
            return true;
        default:
            return false;
    }
}

bool read_operand(Machine& m, R16 broadcast_register, int64_t height, int64_t width, int64_t depth,
                  Operand& operand) {
    constexpr uint32_t kSizes = 7;
    if (operand.map.storage == Storage::kNone) return true;  // a scalar
    if (!m.need(broadcast_register)) return false;
    const uint32_t flags = m.r[broadcast_register];
    if ((flags & ~kSizes) != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "%s_BROADCAST has a bit without meaning",
                      operand.map.name);
    broadcast(flags, height, width, depth, operand);
    return true;
}

bool read_operand_scale(Machine& m, R32 scale, Scale& out) {
    if (!m.need(scale)) return false;
    const uint32_t parameter = m.r.parameter(scale), early = parameter >> 6 & 31;
    const Rounding rounding =
        (parameter >> 13 & 1) != 0 ? Rounding::kNatural : Rounding::kDoubleSymmetric;
    if (early > 30)
        return m.fail(EthosUFaultCode::kRegister, "an operand's scale has no such rounding");
    out = make_scale(m.r[scale] & INT32_MAX, parameter & 63, rounding, early);
    return true;
}

bool truth(bool condition, int64_t& result) {
    result = condition ? -1 : 0;
    return true;
}

bool compute_u85(const Elementwise& e, int64_t x, int64_t y, int64_t& result) {
    if (e.mode == Mode::kLrelu) return (x < 0 ? e.second_scale : e.first_scale).apply(x, result);
    if (scales_operands(e.mode) &&
        !(e.first_scale.apply(x, x) && (e.unary || e.second_scale.apply(y, y)))) {
        return false;
    }
    switch (e.mode) {
        case Mode::kLsr:
            if (y < 0 || y >= 32) return false;
            result = static_cast<int32_t>(static_cast<uint32_t>(x) >> y);
            return true;
        case Mode::kDiv:
            if (y == 0) return false;
            result = x / y;
            return true;
        case Mode::kEqual:
            return truth(x == y, result);
        case Mode::kNotEqual:
            return truth(x != y, result);
        case Mode::kGreaterEqual:
            return truth(x >= y, result);
        case Mode::kGreater:
            return truth(x > y, result);
        case Mode::kAnd:
            result = x & y;
            return true;
        case Mode::kOr:
            result = x | y;
            return true;
        case Mode::kXor:
            result = x ^ y;
            return true;
        case Mode::kNot:
            result = ~x;
            return true;
        case Mode::kAndNot:
            result = x & ~y;
            return true;
        default:
            return compute(e, x, y, result);
    }
}

}  // namespace

bool read_elementwise_u85(Machine& m, uint32_t mode, Elementwise& e) {
    if (!exists(mode))
        return m.fail(EthosUFaultCode::kUnmodelled, "elementwise mode %" PRIu32, mode);
    e.mode = static_cast<Mode>(mode);
    e.function = compute_u85;
    e.unary = is_unary(e.mode);
    e.scaled = e.mode != Mode::kShr;
    if (!read_ifm(m, e.first.map) || (!e.unary && !read_ifm2(m, e.second.map)) ||
        !read_output_stage(m, false, e.output)) {
        return false;
    }
    const int64_t height = e.output.height, width = e.output.width, depth = e.output.depth;
    if (!read_operand(m, R16::IFM_BROADCAST, height, width, depth, e.first)) return false;
    if (!e.unary && !read_operand(m, R16::IFM2_BROADCAST, height, width, depth, e.second))
        return false;
    if (!scales_operands(e.mode)) return true;
    return read_operand_scale(m, R32::IFM_SCALE, e.first_scale) &&
           ((e.unary && e.mode != Mode::kLrelu) ||
            read_operand_scale(m, R32::IFM2_SCALE, e.second_scale));
}

}  // namespace arm_runtime::ethosu
