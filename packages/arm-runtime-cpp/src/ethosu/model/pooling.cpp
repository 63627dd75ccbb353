// POOL: maximum, average, sum over the channels.
#include <cinttypes>

#include "kernel.hpp"
#include "output_stage.hpp"

namespace arm_runtime::ethosu {
namespace {

enum class Pool : uint32_t { kMax = 0, kAverage = 1, kReduceSum = 2 };

struct Pooling {
    Pool mode;
    Window window;
    FeatureMap ifm;
    OutputStage output;
    ChannelScales scales;
    int32_t* input = nullptr;
    int64_t* rows = nullptr;
};

int64_t valid(int64_t first, int64_t taps, int64_t size) {
    const int64_t low = first < 0 ? 0 : first, high = first + taps < size ? first + taps : size;
    return high > low ? high - low : 0;
}

/// Multiplier and shift by which the hardware divides by `count` where a window may have padding.
void reciprocal(int64_t count, int64_t& scale, uint32_t& shift) {
    constexpr uint32_t kBits = 31;
    uint32_t exponent = 0;
    while ((int64_t{1} << exponent) < count) ++exponent;
    shift = kBits + exponent;
    scale = ((int64_t{1} << shift) + (int64_t{1} << exponent)) / count;
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
        int64_t scale;
        uint32_t shift;
        reciprocal(count, scale, shift);
        for (int64_t c = 0; c < w.ofm_depth; ++c)
            fits &= scale_value(pixel[c], scale, shift, p.output.rounding, pixel[c]);
    }
    return fits || m.fail(EthosUFaultCode::kOverflow, "an average's product does not fit 64 bits");
}

void accumulate_row(const Pooling& p, int64_t y, int64_t* row) {
    const Window& w = p.window;
    const int64_t depth = w.ifm_depth;
    const bool maximum = p.mode == Pool::kMax;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        int64_t* pixel = row + x * depth;
        for (int64_t c = 0; c < depth; ++c) pixel[c] = maximum ? INT32_MIN : 0;
        for (int64_t ky = 0; ky < w.kernel.height; ++ky) {
            const int32_t* from =
                p.input + ((y * w.kernel.stride_y + ky) * w.width + x * w.kernel.stride_x) * depth;
            for (int64_t kx = 0; kx < w.kernel.width; ++kx, from += depth) {
                if (maximum) {
                    for (int64_t c = 0; c < depth; ++c)
                        pixel[c] = from[c] > pixel[c] ? from[c] : pixel[c];
                } else {
                    for (int64_t c = 0; c < depth; ++c) pixel[c] += from[c];
                }
            }
        }
        if (maximum) {
            for (int64_t c = 0; c < depth; ++c) pixel[c] -= p.ifm.zero_point;
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

bool finish_row(Machine& m, const Pooling& p, int64_t y, int64_t* row) {
    if (p.mode == Pool::kMax) return true;
    if (p.mode == Pool::kAverage && !p.output.global_scale)
        return scale_row(m, p.output, p.scales, row);
    if (!check_accumulators(m, p.output, row, p.output.width * p.output.depth)) return false;
    if (p.mode == Pool::kAverage && p.window.padded) return divide_row(m, p, y, row);
    return scale_row(m, p.output, row);
}

bool prepare(Machine& m, uint32_t mode, Pooling& p) {
    Window& w = p.window;
    if (mode > 2) return m.fail(EthosUFaultCode::kUnmodelled, "pooling mode %" PRIu32, mode);
    p.mode = static_cast<Pool>(mode);
    if (!read_window(m, w) || !read_ifm(m, p.ifm) || !read_output_stage(m, p.output)) return false;
    const int64_t depth = p.mode == Pool::kReduceSum ? 1 : w.ifm_depth;
    if (w.ofm_depth != depth)
        return m.fail(EthosUFaultCode::kRegister, "OFM_DEPTH_M1 does not fit IFM_DEPTH_M1");
    if (w.kernel.dilation_x != 1 || w.kernel.dilation_y != 1) {
        return m.fail(EthosUFaultCode::kUnmodelled, "a pool with dilation");
    }
    if (p.mode == Pool::kReduceSum &&
        w.kernel.height * w.kernel.width * w.kernel.stride_y * w.kernel.stride_x != 1) {
        return m.fail(EthosUFaultCode::kUnmodelled, "REDUCE_SUM with a window");
    }
    if (p.ifm.element == 4 && p.ifm.zero_point != 0) {
        return m.fail(EthosUFaultCode::kUnmodelled, "a pool of 32-bit elements with a zero point");
    }
    if (p.mode == Pool::kReduceSum && !p.output.global_scale) {
        return m.fail(EthosUFaultCode::kUnmodelled, "REDUCE_SUM with scales for each channel");
    }
    if (p.mode == Pool::kAverage && !p.output.global_scale &&
        !read_channel_scales(m, p.output, w.ofm_depth, p.scales))
        return false;
    return m.take(product({w.height, w.width, w.ifm_depth}), p.input) &&
           m.take(product({w.ofm_width, w.ofm_depth, m.workers.workers}), p.rows);
}

}  // namespace

bool run_pool(Machine& m, uint32_t mode) {
    Pooling p;
    if (!prepare(m, mode, p)) return false;
    if (m.planning) return true;
    const bool maximum = p.mode == Pool::kMax;
    if (!load_window<int32_t>(m, p.window, p.ifm, !maximum, maximum ? INT32_MIN : 0, p.input))
        return false;
    const int64_t row_size = p.window.ofm_width * p.window.ofm_depth;
    const int64_t additions =
        product({row_size, p.window.ofm_height, p.window.kernel.height, p.window.kernel.width});
    return m.for_rows(p.window.ofm_height, additions, [&](int64_t y, uint32_t worker) {
        int64_t* row = p.rows + worker * row_size;
        if (p.mode == Pool::kReduceSum) {
            reduce_row(p, y, row);
        } else {
            accumulate_row(p, y, row);
        }
        return finish_row(m, p, y, row) && put_row(m, p.output, y, worker, row);
    });
}

}  // namespace arm_runtime::ethosu
