// POOL: extremes, averages and sums of windows, the sum over the channels; on U85 also the index of
// a maximum, and no input at all but what the accumulators hold.

#include "channel_scales.hpp"
#include "formats.hpp"
#include "kernel.hpp"
#include "weights.hpp"

namespace arm_runtime::ethosu {
namespace {

enum class Pool : uint32_t { kMax, kAverage, kReduceSum, kSum, kNone, kMin, kArgmaxX, kArgmaxY };
constexpr uint32_t kPoolsU55 = 3, kPoolsU85 = 8;

bool is_extreme(Pool mode) { return mode == Pool::kMax || mode == Pool::kMin; }
bool is_argmax(Pool mode) { return mode == Pool::kArgmaxX || mode == Pool::kArgmaxY; }

struct Pooling {
    Pool mode = Pool::kNone;
    Window window;
    FeatureMap ifm;
    OutputStage output;
    ChannelScales scales;
    int32_t* input = nullptr;
    int64_t* rows = nullptr;
};

/// What padding counts as.
int32_t fill(Pool mode) {
    return mode == Pool::kMax ? INT32_MIN : mode == Pool::kMin ? INT32_MAX : 0;
}

AccumulationU85::Combine combine(Pool mode) {
    return mode == Pool::kMax   ? AccumulationU85::Combine::kMax
           : mode == Pool::kMin ? AccumulationU85::Combine::kMin
                                : AccumulationU85::Combine::kSum;
}

int64_t valid(int64_t first, int64_t taps, int64_t size) {
    const int64_t low = first < 0 ? 0 : first, high = first + taps < size ? first + taps : size;
    return high > low ? high - low : 0;
}

/// The scale by which the hardware divides by `count` where a window may have padding.
Scale reciprocal(const Machine& m, int64_t count, const OutputStage& output) {
    const uint32_t bits = m.is_u85() ? 30 : 31;
    uint32_t exponent = 0;
    while ((int64_t{1} << exponent) < count) ++exponent;
    const uint32_t shift = bits + exponent;
    const int64_t factor = ((int64_t{1} << shift) + (int64_t{1} << exponent)) / count;
    return make_scale(factor, shift, output.rounding, output.early);
}

bool divide_row(Machine& m, const Pooling& p, int64_t y, int64_t* row) {
    const Window& w = p.window;
    const int64_t rows = valid(y * w.kernel.stride_y - w.pad_top, w.kernel.height, w.rows);
    bool fits = true;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        const int64_t count =
            rows * valid(x * w.kernel.stride_x - w.pad_left, w.kernel.width, w.columns);
        int64_t* pixel = row + x * w.ofm_depth;
        if (count == 0) continue;  // only padding: the sum is 0
        const Scale scale = reciprocal(m, count, p.output);
        for (int64_t c = 0; c < w.ofm_depth; ++c) fits &= scale.apply(pixel[c], pixel[c]);
    }
    return fits || m.fail(EthosUFaultCode::kOverflow, "an average's product does not fit 64 bits");
}

void accumulate_row(const Pooling& p, int64_t y, int64_t* row) {
    const Window& w = p.window;
    const int64_t depth = w.ifm_depth;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        int64_t* pixel = row + x * depth;
        for (int64_t c = 0; c < depth; ++c) pixel[c] = fill(p.mode);
        for (int64_t ky = 0; ky < w.kernel.height; ++ky) {
            const int32_t* from =
                p.input + ((y * w.kernel.stride_y + ky) * w.width + x * w.kernel.stride_x) * depth;
            for (int64_t kx = 0; kx < w.kernel.width; ++kx, from += depth) {
                if (p.mode == Pool::kMax) {
                    for (int64_t c = 0; c < depth; ++c)
                        pixel[c] = from[c] > pixel[c] ? from[c] : pixel[c];
                } else if (p.mode == Pool::kMin) {
                    for (int64_t c = 0; c < depth; ++c)
                        pixel[c] = from[c] < pixel[c] ? from[c] : pixel[c];
                } else {
                    for (int64_t c = 0; c < depth; ++c) pixel[c] += from[c];
                }
            }
        }
        if (is_extreme(p.mode)) {
            for (int64_t c = 0; c < depth; ++c) pixel[c] -= p.ifm.zero_point;
        }
    }
}

/// The first index of the maximum of each window, in the upper 16 bits.
void argmax_row_u85(const Pooling& p, int64_t y, int64_t* row) {
    const Window& w = p.window;
    const int64_t depth = w.ifm_depth;
    const bool along_x = p.mode == Pool::kArgmaxX;
    const int64_t count = along_x ? w.kernel.width : w.kernel.height,
                  step = along_x ? depth : w.width * depth;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        const int32_t* from =
            p.input + (y * w.kernel.stride_y * w.width + x * w.kernel.stride_x) * depth;
        for (int64_t c = 0; c < depth; ++c) {
            int64_t best = 0;
            for (int64_t i = 1; i < count; ++i)
                best = from[i * step + c] > from[best * step + c] ? i : best;
            row[x * depth + c] = best << 16;
        }
    }
}

void reduce_row(const Pooling& p, int64_t y, int64_t* row) {
    const Window& w = p.window;
    const int32_t* from = p.input + y * w.width * w.ifm_depth;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        row[x] = 0;
        for (int64_t c = 0; c < w.ifm_depth; ++c) row[x] += *from++;
    }
}

bool scale_pooled_row(Machine& m, const Pooling& p, int64_t y, int64_t* row) {
    if (p.mode == Pool::kMax && !m.is_u85()) return true;
    if (!p.output.global_scale) return scale_row(m, p.output, p.scales, row);
    if (!check_accumulators(m, p.output, row, p.output.width * p.output.depth)) return false;
    if (p.mode == Pool::kAverage && (p.window.padded || m.is_u85()))
        return divide_row(m, p, y, row);
    return scale_row(m, p.output, row);
}

bool check(Machine& m, const Pooling& p) {
    const Window& w = p.window;
    if (w.ofm_depth != (p.mode == Pool::kReduceSum ? 1 : w.ifm_depth))
        return m.fail(EthosUFaultCode::kRegister, "OFM_DEPTH_M1 does not fit IFM_DEPTH_M1");
    if (w.kernel.dilation_x != 1 || w.kernel.dilation_y != 1)
        return m.fail(EthosUFaultCode::kUnmodelled, "a pool with dilation");
    if (p.mode == Pool::kReduceSum && !w.is_point())
        return m.fail(EthosUFaultCode::kUnmodelled, "REDUCE_SUM with a window");
    if (is_argmax(p.mode) &&
        (w.padded || (p.mode == Pool::kArgmaxX ? w.kernel.height : w.kernel.width) != 1))
        return m.fail(EthosUFaultCode::kUnmodelled, "ARGMAX with padding, or along two axes");
    if (is_argmax(p.mode) && p.output.accumulation.start != AccumulationU85::Start::kZero)
        return m.fail(EthosUFaultCode::kUnmodelled, "ARGMAX that goes on from accumulators");
    if (p.ifm.element == 4 && p.ifm.zero_point != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "a pool of 32-bit elements with a zero point");
    if (p.mode == Pool::kReduceSum && !p.output.global_scale)
        return m.fail(EthosUFaultCode::kUnmodelled, "REDUCE_SUM with scales for each channel");
    if (m.is_u85() && p.mode == Pool::kAverage && !p.output.scale.is_identity())
        return m.fail(EthosUFaultCode::kUnmodelled, "an average with a scale");
    return true;
}

bool prepare(Machine& m, uint32_t mode, Pooling& p) {
    Window& w = p.window;
    if (mode >= (m.is_u85() ? kPoolsU85 : kPoolsU55))
        return m.fail(EthosUFaultCode::kUnmodelled, "pooling mode %" PRIu32, mode);
    p.mode = static_cast<Pool>(mode);
    const bool has_input = p.mode != Pool::kNone;
    if (has_input && (!read_window(m, w) || !read_ifm(m, p.ifm))) return false;
    if (!read_output_stage(m, true, p.output)) return false;
    if (has_input && !check(m, p)) return false;
    const bool needs_scales = !p.output.global_scale && (m.is_u85() || p.mode == Pool::kAverage);
    if (needs_scales && !read_channel_scales(m, p.output, p.scales)) return false;
    return m.take(has_input ? product({w.height, w.width, w.ifm_depth}) : 0, p.input) &&
           m.take(product({p.output.width, p.output.depth, m.workers.workers}), p.rows);
}

void pool_row(const Pooling& p, int64_t y, int64_t* row) {
    if (p.mode == Pool::kNone) {
        for (int64_t i = 0; i < p.output.width * p.output.depth; ++i) row[i] = 0;
    } else if (p.mode == Pool::kReduceSum) {
        reduce_row(p, y, row);
    } else if (is_argmax(p.mode)) {
        argmax_row_u85(p, y, row);
    } else {
        accumulate_row(p, y, row);
    }
}

}  // namespace

bool run_pool(Machine& m, uint32_t mode) {
    Pooling p;
    if (!prepare(m, mode, p)) return false;
    if (m.planning) return true;
    if (p.mode == Pool::kReduceSum)
        p.window.ifm_block = ifm_block_depth(m, false, p.ifm.element, false);
    if (p.mode != Pool::kNone &&
        !load_window<int32_t>(m, p.window, p.ifm, !is_extreme(p.mode), fill(p.mode), p.input))
        return false;
    const OutputStage& out = p.output;
    const int64_t row_size = out.width * out.depth;
    const int64_t taps = p.mode == Pool::kNone ? 1 : p.window.kernel.height * p.window.kernel.width;
    return m.for_rows(
        out.height, product({row_size, out.height, taps}), [&](int64_t y, uint32_t worker) {
            int64_t* row = p.rows + worker * row_size;
            pool_row(p, y, row);
            return accumulate_row_u85(m, out.accumulation, combine(p.mode), y, worker, row) &&
                   (!out.accumulation.emits ||
                    (scale_pooled_row(m, p, y, row) && put_row(m, out, y, worker, row)));
        });
}

}  // namespace arm_runtime::ethosu
