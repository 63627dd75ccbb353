#include "elementwise.hpp"

namespace arm_runtime::ethosu {

void broadcast(uint32_t flags, int64_t height, int64_t width, int64_t depth, Operand& operand) {
    operand.height = (flags & 1) != 0 ? 1 : height;
    operand.width = (flags & 2) != 0 ? 1 : width;
    operand.depth = (flags & 4) != 0 ? 1 : depth;
}

bool compute(const Elementwise& e, int64_t x, int64_t y, int64_t& result) {
    switch (e.mode) {
        case ElementwiseMode::kMul:
            return !__builtin_mul_overflow(x, y, &result);
        case ElementwiseMode::kAdd:
            return !__builtin_add_overflow(x, y, &result);
        case ElementwiseMode::kSub:
            return !__builtin_sub_overflow(x, y, &result);
        case ElementwiseMode::kMin:
            result = x < y ? x : y;
            return true;
        case ElementwiseMode::kMax:
            result = x > y ? x : y;
            return true;
        case ElementwiseMode::kAbs:
            result = x < 0 ? -x : x;
            return true;
        case ElementwiseMode::kClz:
            result = x < 0 ? 0 : x == 0 ? 32 : __builtin_clz(static_cast<uint32_t>(x));
            return true;
        case ElementwiseMode::kShr:
            return y >= 0 && y < 32 &&
                   make_scale(1, static_cast<uint32_t>(y), e.output.rounding).apply(x, result);
        case ElementwiseMode::kShl:
            if (y < 0 || y >= 32) return false;
            result = static_cast<int32_t>(static_cast<uint32_t>(x) << y);
            return true;
        default:
            return false;
    }
}

namespace {

bool load_operand(Machine& m, const Operand& operand, int64_t y, int32_t* row) {
    return load_row(m, operand.map, operand.height == 1 ? 0 : y, operand.width, operand.depth, 0,
                    row);
}

/// Computes a row [width][depth] from the operands' rows, which may be narrower.
bool compute_row(const Elementwise& e, const int32_t* first, const int32_t* second, int64_t* out) {
    const int64_t width = e.output.width, depth = e.output.depth;
    const int64_t step1 = e.first.depth == 1 ? 0 : 1, step2 = e.second.depth == 1 ? 0 : 1;
    const int64_t zero1 = e.first.map.zero_point, zero2 = e.unary ? 0 : e.second.map.zero_point;
    bool fits = true;
    for (int64_t x = 0; x < width; ++x) {
        const int32_t* a = first + (e.first.width == 1 ? 0 : x) * e.first.depth;
        const int32_t* b = second + (e.second.width == 1 ? 0 : x) * e.second.depth;
        int64_t* to = out + x * depth;
        for (int64_t c = 0; c < depth; ++c) {
            const int64_t left = a[c * step1] - zero1;
            const int64_t right = e.unary ? 0 : b[c * step2] - zero2;
            fits &=
                e.swapped ? e.function(e, right, left, to[c]) : e.function(e, left, right, to[c]);
        }
    }
    return fits;
}

bool claim_operand(Machine& m, const OutputStage& out, const Operand& o) {
    const int64_t sizes[] = {o.height, o.width, o.depth};
    return claim_map(m, o.map, o.height, o.width, o.depth, false) &&
           check_blocks(m, o.map, read_blocks(m, out.height, out.width, out.depth), 1,
                        [&](Box box, int64_t) {
                            for (int axis = 0; axis < 3; ++axis) {
                                if (sizes[axis] > 1) continue;
                                box.from[axis] = 0;
                                box.to[axis] = 1;
                            }
                            return box;
                        });
}

}  // namespace

bool run_elementwise(Machine& m, uint32_t mode) {
    Elementwise e;
    if (!(m.is_u85() ? read_elementwise_u85(m, mode, e) : read_elementwise_u55(m, mode, e)))
        return false;
    const OutputStage& out = e.output;
    const int64_t row_size = product({out.width, out.depth}),
                  all_rows = product({row_size, m.workers.workers});
    if (!m.take(all_rows, e.first.rows) || !m.take(all_rows, e.second.rows) ||
        !m.take(all_rows, e.rows)) {
        return false;
    }
    if (m.planning) return true;
    if (!claim_operand(m, out, e.first) || (!e.unary && !claim_operand(m, out, e.second)))
        return false;
    return m.for_rows(out.height, product({out.height, row_size}), [&](int64_t y, uint32_t worker) {
        int32_t* first_row = e.first.rows + worker * row_size;
        int32_t* second_row = e.second.rows + worker * row_size;
        int64_t* row = e.rows + worker * row_size;
        if (!load_operand(m, e.first, y, first_row)) return false;
        if (!e.unary && !load_operand(m, e.second, y, second_row)) return false;
        if (!compute_row(e, first_row, second_row, row)) {
            return m.fail(
                EthosUFaultCode::kOverflow,
                "an element does not fit 64 bits, or is shifted by a number outside [0, 32), or "
                "divided by 0");
        }
        if (e.scaled && !scale_row(m, out, row)) return false;
        return put_row(m, out, y, worker, row);
    });
}

}  // namespace arm_runtime::ethosu
