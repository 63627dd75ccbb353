// ELEMENTWISE: MUL ADD SUB MIN MAX LRELU ABS CLZ SHR SHL.
#include <cinttypes>

#include "output_stage.hpp"

namespace arm_runtime::ethosu {
namespace {

enum class Mode : uint32_t { kMul, kAdd, kSub, kMin, kMax, kLrelu, kAbs, kClz, kShr, kShl };
constexpr uint32_t kModes = 10;

bool is_unary(Mode mode) {
    return mode == Mode::kLrelu || mode == Mode::kAbs || mode == Mode::kClz;
}
bool is_sum(Mode mode) { return mode == Mode::kAdd || mode == Mode::kSub; }

/// Which operand of a sum is scaled before it.
enum class SumScale : uint32_t { kBoth16 = 0, kFirst32 = 1, kSecond32 = 2 };

struct Elementwise {
    Mode mode;
    FeatureMap first, second;
    OutputStage output;
    int64_t height, width, depth;     ///< of the OFM
    int64_t height1, width1, depth1;  ///< of the IFM
    int64_t height2, width2, depth2;  ///< of IFM2
    bool scalar = false, swapped = false;
    int64_t scalar_value = 0;
    // Of a sum.
    SumScale sum_scale;
    Rounding sum_rounding;
    int64_t first_scale, second_scale, fixed_factor;
    uint32_t first_shift;
    // For each worker.
    int32_t *first_rows = nullptr, *second_rows = nullptr;
    int64_t* rows = nullptr;
};

/// (h, w, c) of an operand from those of the result and the flags of the broadcast.
bool read_second(Machine& m, Elementwise& e) {
    constexpr uint32_t kHeight = 1, kWidth = 2, kDepth = 4, kSwapped = 1 << 6, kScalar = 1 << 7;
    if (!m.need(R16::IFM2_BROADCAST)) return false;
    const uint32_t broadcast = m.r[R16::IFM2_BROADCAST];
    e.swapped = (broadcast & kSwapped) != 0;
    e.scalar = (broadcast & kScalar) != 0;
    if ((broadcast & ~(kHeight | kWidth | kDepth | kSwapped | kScalar)) != 0) {
        return m.fail(EthosUFaultCode::kUnmodelled, "IFM2_BROADCAST has a bit without meaning");
    }
    if (e.scalar) {
        if (!m.need(R16::IFM2_SCALAR, R16::IFM2_ZERO_POINT)) return false;
        const int64_t value =
            e.first.is_signed ? m.r.signed16(R16::IFM2_SCALAR) : m.r[R16::IFM2_SCALAR];
        e.scalar_value = value - m.r.signed16(R16::IFM2_ZERO_POINT);
        e.height2 = e.width2 = e.depth2 = 1;
        return true;
    }
    e.height2 = (broadcast & kHeight) != 0 ? 1 : e.height;
    e.width2 = (broadcast & kWidth) != 0 ? 1 : e.width;
    e.depth2 = (broadcast & kDepth) != 0 ? 1 : e.depth;
    return read_ifm2(m, e.second);
}

bool read_sum(Machine& m, Elementwise& e) {
    if (!m.need(R32::OPA_SCALE, R32::OPB_SCALE)) return false;
    constexpr int64_t kFixedShift8 = 19, kFixedShift16 = 14;
    const uint32_t precision = m.r[R16::IFM_PRECISION], scale = precision >> 8 & 3,
                   rounding = precision >> 14 & 3;
    if (scale > 2 || rounding > 2)
        return m.fail(EthosUFaultCode::kRegister, "IFM_PRECISION has no such scaling");
    e.sum_scale = static_cast<SumScale>(scale);
    e.sum_rounding = static_cast<Rounding>(rounding);
    const bool narrow = e.sum_scale == SumScale::kBoth16;
    e.first_scale = narrow ? m.r[R32::OPA_SCALE] & 0xFFFF : m.r[R32::OPA_SCALE];
    e.first_shift = m.r.parameter(R32::OPA_SCALE) & 63;
    e.second_scale = m.r[R32::OPB_SCALE] & 0xFFFF;
    e.fixed_factor = int64_t{1} << (e.first.element == 1 ? kFixedShift8 : kFixedShift16);
    return true;
}

bool prepare(Machine& m, uint32_t mode, Elementwise& e) {
    if (mode >= kModes)
        return m.fail(EthosUFaultCode::kUnmodelled, "elementwise mode %" PRIu32, mode);
    e.mode = static_cast<Mode>(mode);
    if (!m.need(R16::OFM_HEIGHT_M1, R16::OFM_WIDTH_M1, R16::IFM_DEPTH_M1) ||
        !read_ifm(m, e.first) || !read_output_stage(m, e.output)) {
        return false;
    }
    e.height = e.height1 = m.r.size(R16::OFM_HEIGHT_M1);
    e.width = e.width1 = e.output.width;
    e.depth = e.output.depth;
    e.depth1 = m.r.size(R16::IFM_DEPTH_M1);
    if (e.depth1 != e.depth)
        return m.fail(EthosUFaultCode::kRegister, "IFM_DEPTH_M1 is not OFM_DEPTH_M1");
    if (!is_unary(e.mode) && !read_second(m, e)) return false;
    if (is_sum(e.mode) && !read_sum(m, e)) return false;
    const int64_t row = product({e.width, e.depth, m.workers.workers});
    return m.take(row, e.first_rows) && m.take(row, e.second_rows) && m.take(row, e.rows);
}

int64_t leading_zeros(int64_t x) {
    return x < 0 ? 0 : x == 0 ? 32 : __builtin_clz(static_cast<uint32_t>(x));
}

bool sum(const Elementwise& e, int64_t x, int64_t y, int64_t& result) {
    bool fits = true;
    if (e.sum_scale == SumScale::kBoth16) {
        x *= e.first_scale;
        y *= e.second_scale;
    } else if (e.sum_scale == SumScale::kFirst32) {
        fits = scale_value(x, e.first_scale, e.first_shift, e.sum_rounding, x);
        y *= e.fixed_factor;
    } else {
        fits = scale_value(y, e.first_scale, e.first_shift, e.sum_rounding, y);
        x *= e.fixed_factor;
    }
    return fits && !(e.mode == Mode::kAdd ? __builtin_add_overflow(x, y, &result)
                                          : __builtin_sub_overflow(x, y, &result));
}

/// One element. Operands have 33 bits at most. False on overflow of 64 bits, or a shift that is
/// none.
bool compute(const Elementwise& e, int64_t x, int64_t y, int64_t& result) {
    switch (e.mode) {
        case Mode::kMul:
            return !__builtin_mul_overflow(x, y, &result);
        case Mode::kAdd:
        case Mode::kSub:
            return sum(e, x, y, result);
        case Mode::kMin:
            result = x < y ? x : y;
            return true;
        case Mode::kMax:
            result = x > y ? x : y;
            return true;
        case Mode::kLrelu:
            result = x;
            return x >= 0 ||
                   scale_value(x, e.output.scale, e.output.shift, e.output.rounding, result);
        case Mode::kAbs:
            result = x < 0 ? -x : x;
            return true;
        case Mode::kClz:
            result = leading_zeros(x);
            return true;
        case Mode::kShr:
            return y >= 0 && y < 32 &&
                   scale_value(x, 1, static_cast<uint32_t>(y), e.output.rounding, result);
        case Mode::kShl:
            if (y < 0 || y >= 32) return false;
            result = static_cast<int32_t>(static_cast<uint32_t>(x) << y);
            return true;
    }
    return false;
}

/// Adds up to a row: `out` [width][depth] from the operands' rows, which may be narrower.
bool compute_row(const Elementwise& e, const int32_t* first, const int32_t* second, int64_t* out) {
    const int64_t step2 = e.depth2 == 1 ? 0 : 1;
    const int64_t zero1 = e.first.zero_point,
                  zero2 = is_unary(e.mode) || e.scalar ? 0 : e.second.zero_point;
    bool fits = true;
    for (int64_t x = 0; x < e.width; ++x) {
        const int32_t* a = first + x * e.depth;
        const int32_t* b = second + (e.width2 == 1 ? 0 : x) * e.depth2;
        int64_t* to = out + x * e.depth;
        for (int64_t c = 0; c < e.depth; ++c) {
            const int64_t left = a[c] - zero1;
            const int64_t right = is_unary(e.mode) ? 0
                                  : e.scalar       ? e.scalar_value
                                                   : b[c * step2] - zero2;
            fits &= e.swapped ? compute(e, right, left, to[c]) : compute(e, left, right, to[c]);
        }
    }
    return fits;
}

}  // namespace

bool run_elementwise(Machine& m, uint32_t mode) {
    Elementwise e;
    if (!prepare(m, mode, e)) return false;
    if (m.planning) return true;
    const bool scaled =
        e.output.global_scale && (e.mode == Mode::kMul || is_sum(e.mode) || e.mode == Mode::kAbs);
    const bool has_second = !is_unary(e.mode) && !e.scalar;
    const int64_t row_size = e.width * e.depth;
    return m.for_rows(e.height, product({e.height, row_size}), [&](int64_t y, uint32_t worker) {
        int32_t* first = e.first_rows + worker * row_size;
        int32_t* second = e.second_rows + worker * row_size;
        int64_t* row = e.rows + worker * row_size;
        if (!load_row(m, e.first, y, e.width1, e.depth1, 0, first)) return false;
        if (has_second &&
            !load_row(m, e.second, e.height2 == 1 ? 0 : y, e.width2, e.depth2, 0, second))
            return false;
        if (!compute_row(e, first, second, row)) {
            return m.fail(
                EthosUFaultCode::kOverflow,
                "an element does not fit 64 bits, or is shifted by a number outside [0, 32)");
        }
        if (scaled && !scale_row(m, e.output, row)) return false;
        return put_row(m, e.output, y, worker, row);
    });
}

}  // namespace arm_runtime::ethosu
