// ELEMENTWISE on Ethos-U55 and Ethos-U65: a sum scales its operands, one or both of them.

#include "elementwise.hpp"
#include "formats.hpp"

namespace arm_runtime::ethosu {
namespace {

using Mode = ElementwiseMode;

bool is_sum(Mode mode) { return mode == Mode::kAdd || mode == Mode::kSub; }

bool read_second(Machine& m, Elementwise& e) {
    constexpr uint32_t kSizes = 7, kSwapped = 1 << 6, kScalar = 1 << 7;
    if (!m.need(R16::IFM2_BROADCAST)) return false;
    const uint32_t flags = m.r[R16::IFM2_BROADCAST];
    if ((flags & ~(kSizes | kSwapped | kScalar)) != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "IFM2_BROADCAST has a bit without meaning");
    e.swapped = (flags & kSwapped) != 0;
    if ((flags & kScalar) == 0) {
        broadcast(flags, e.first.height, e.first.width, e.first.depth, e.second);
        return read_ifm2(m, e.second.map);
    }
    if (!m.need(R16::IFM2_SCALAR, R16::IFM2_ZERO_POINT)) return false;
    FeatureMap& map = e.second.map;
    map.storage = Storage::kNone;
    map.scalar =
        e.first.map.is_signed ? static_cast<int16_t>(m.r[R16::IFM2_SCALAR]) : m.r[R16::IFM2_SCALAR];
    map.zero_point = m.r.signed16(R16::IFM2_ZERO_POINT);
    return true;
}

bool read_sum(Machine& m, Elementwise& e) {
    if (!m.need(R32::OPA_SCALE, R32::OPB_SCALE)) return false;
    enum Scaled : uint32_t { kBoth, kFirst, kSecond };
    constexpr Rounding kRoundingModes[] = {Rounding::kDoubleSymmetric, Rounding::kTowardsZero,
                                           Rounding::kNatural};
    // What the operand without a scale is shifted by.
    const uint32_t fixed = e.first.map.element == 1 ? 19 : 14;
    const uint32_t precision = m.r[R16::IFM_PRECISION], scaled = precision >> 8 & 3,
                   rounding = precision >> 14 & 3;
    if (scaled > 2 || rounding > 2)
        return m.fail(EthosUFaultCode::kRegister, "IFM_PRECISION has no such scaling");
    const Scale wide = make_scale(m.r[R32::OPA_SCALE], m.r.parameter(R32::OPA_SCALE) & 63,
                                  kRoundingModes[rounding]);
    const Scale shift = {int64_t{1} << fixed};
    e.first_scale = scaled == kBoth    ? Scale{m.r[R32::OPA_SCALE] & 0xFFFF}
                    : scaled == kFirst ? wide
                                       : shift;
    e.second_scale = scaled == kBoth    ? Scale{m.r[R32::OPB_SCALE] & 0xFFFF}
                     : scaled == kFirst ? shift
                                        : wide;
    return true;
}

bool compute_u55(const Elementwise& e, int64_t x, int64_t y, int64_t& result) {
    if (is_sum(e.mode)) {
        return e.first_scale.apply(x, x) && e.second_scale.apply(y, y) && compute(e, x, y, result);
    }
    if (e.mode == Mode::kLrelu) {
        result = x;
        return x >= 0 || e.output.scale.apply(x, result);
    }
    return compute(e, x, y, result);
}

}  // namespace

bool read_elementwise_u55(Machine& m, uint32_t mode, Elementwise& e) {
    if (mode > static_cast<uint32_t>(Mode::kShl))
        return m.fail(EthosUFaultCode::kUnmodelled, "elementwise mode %" PRIu32, mode);
    e.mode = static_cast<Mode>(mode);
    e.function = compute_u55;
    e.unary = e.mode == Mode::kLrelu || e.mode == Mode::kAbs || e.mode == Mode::kClz;
    if (!m.need(R16::IFM_DEPTH_M1) || !read_ifm(m, e.first.map) ||
        !read_output_stage(m, false, e.output)) {
        return false;
    }
    e.scaled =
        e.output.global_scale && (e.mode == Mode::kMul || is_sum(e.mode) || e.mode == Mode::kAbs);
    broadcast(0, e.output.height, e.output.width, m.r.size(R16::IFM_DEPTH_M1), e.first);
    if (e.first.depth != e.output.depth)
        return m.fail(EthosUFaultCode::kRegister, "IFM_DEPTH_M1 is not OFM_DEPTH_M1");
    return (e.unary || read_second(m, e)) && (!is_sum(e.mode) || read_sum(m, e));
}

}  // namespace arm_runtime::ethosu
