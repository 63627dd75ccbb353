// RESIZE, which only Ethos-U85 has: TOSA's integer result, in the upper bits of the accumulator.

#include "formats.hpp"
#include "output_stage.hpp"

namespace arm_runtime::ethosu {
namespace {

enum class Mode : uint32_t { kBilinear = 0, kNearest = 2 };

/// Where result `i` of an axis comes from: element `at`, `remainder / numerator` towards the next.
struct Axis {
    int64_t size = 0, numerator = 1, step = 0, offset = 0;

    int64_t floor(int64_t i) const {
        const int64_t t = i * step + offset;
        return t >= 0 ? t / numerator : -((-t + numerator - 1) / numerator);
    }
    int64_t remainder(int64_t i) const { return i * step + offset - floor(i) * numerator; }
    int64_t clamp(int64_t at) const { return at < 0 ? 0 : at >= size ? size - 1 : at; }
};

bool read_axis(Machine& m, R16 size, R16 numerator, R16 offset, R32 step, Axis& axis) {
    constexpr int kOffsetBits = 12;
    if (!m.need(size, numerator, offset, step)) return false;
    axis.size = m.r.size(size);
    axis.numerator = m.r.size(numerator);
    axis.step = (m.r.parameter(step) & 15) * axis.numerator + (m.r[step] & 0x7FF);
    axis.offset =
        static_cast<int32_t>(uint32_t{m.r[offset]} << (32 - kOffsetBits)) >> (32 - kOffsetBits);
    return true;
}

}  // namespace

bool run_resize_u85(Machine& m, uint32_t parameter) {
    const Mode mode = static_cast<Mode>(parameter);
    if (mode != Mode::kBilinear && mode != Mode::kNearest)
        return m.fail(EthosUFaultCode::kUnmodelled, "resizing mode %" PRIu32, parameter);
    Axis vertical, horizontal;
    FeatureMap ifm;
    OutputStage out;
    if (!read_axis(m, R16::KERNEL_HEIGHT_M1, R16::RESIZE_Y_SCALE_N_M1, R16::RESIZE_Y_OFFSET,
                   R32::RESIZE_Y, vertical) ||
        !read_axis(m, R16::KERNEL_WIDTH_M1, R16::RESIZE_X_SCALE_N_M1, R16::RESIZE_X_OFFSET,
                   R32::RESIZE_X, horizontal) ||
        !read_ifm(m, ifm) || !read_output_stage(m, false, out)) {
        return false;
    }
    if (!out.global_scale)
        return m.fail(EthosUFaultCode::kUnmodelled, "RESIZE with scales for each channel");
    const int64_t input_row = product({horizontal.size, out.depth});
    int32_t* input = nullptr;
    int64_t* rows = nullptr;
    if (!m.take(product({vertical.size, input_row}), input) ||
        !m.take(product({out.width, out.depth, m.workers.workers}), rows)) {
        return false;
    }
    if (m.planning) return true;
    const auto reads = [&](Box box, int64_t) {
        int i = 0;
        for (const Axis* axis : {&vertical, &horizontal}) {
            box.from[i] = axis->clamp(axis->floor(box.from[i]));
            box.to[i] = axis->clamp(axis->floor(box.to[i] - 1) + 1) + 1;
            ++i;
        }
        return box;
    };
    if (!claim_map(m, ifm, vertical.size, horizontal.size, out.depth, false) ||
        !check_blocks(m, ifm, read_blocks(m, out.height, out.width, out.depth), 1, reads)) {
        return false;
    }
    for (int64_t y = 0; y < vertical.size; ++y) {
        if (!load_row(m, ifm, y, horizontal.size, out.depth, ifm.zero_point, input + y * input_row))
            return false;
    }
    const int64_t row_size = out.width * out.depth;
    return m.for_rows(out.height, product({out.height, row_size}), [&](int64_t y, uint32_t worker) {
        int64_t* row = rows + worker * row_size;
        const int64_t top = vertical.floor(y), below = vertical.remainder(y);
        const int64_t nearest_y = top + (2 * below >= vertical.numerator ? 1 : 0);
        const int32_t* upper = input + vertical.clamp(top) * input_row;
        const int32_t* lower = input + vertical.clamp(top + 1) * input_row;
        for (int64_t x = 0; x < out.width; ++x) {
            const int64_t left = horizontal.floor(x), beside = horizontal.remainder(x);
            const int64_t a = horizontal.clamp(left) * out.depth,
                          b = horizontal.clamp(left + 1) * out.depth;
            const bool to_right = 2 * beside >= horizontal.numerator;
            const int32_t* nearest =
                input + vertical.clamp(nearest_y) * input_row + (to_right ? b : a);
            for (int64_t c = 0; c < out.depth; ++c) {
                const auto mix = [&](const int32_t* from) {
                    return (horizontal.numerator - beside) * from[a + c] + beside * from[b + c];
                };
                const int64_t value =
                    mode == Mode::kNearest
                        ? nearest[c]
                        : (vertical.numerator - below) * mix(upper) + below * mix(lower);
                row[x * out.depth + c] = value * (1 << 16);
            }
        }
        return scale_row(m, out, row) && put_row(m, out, y, worker, row);
    });
}

}  // namespace arm_runtime::ethosu
