// CONV and DEPTHWISE, and on U85 the matrix product, a CONV whose weights are IFM2.

#include "channel_scales.hpp"
#include "formats.hpp"
#include "kernel.hpp"
#include "weights.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kLargestWeight = 255;
constexpr int kPixels = 4;  // output elements of a row that share a pass over the weights

struct Convolution {
    Window window;
    FeatureMap ifm;
    OutputStage output;
    ChannelScales scales;
    int16_t* input = nullptr;
    int16_t* weights = nullptr;
    int64_t weights_step = 0;    ///< from one row's weights to the next's: 0, unless they are IFM2
    int64_t* rows = nullptr;     ///< for each worker a row of accumulators
    int32_t* partial = nullptr;  ///< for each worker a row's pixel of partial sums, depthwise
    int64_t chunk = 1;           ///< so many products cannot overflow 32 bits
};

/// sums[i] += pixels[i] . weights
void dot(const int16_t* const pixels[kPixels], const int16_t* weights, int64_t count,
         int32_t sums[kPixels]) {
    const int16_t *a = pixels[0], *b = pixels[1], *c = pixels[2], *d = pixels[3];
    int32_t sa = 0, sb = 0, sc = 0, sd = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t w = weights[i];
        sa += a[i] * w;
        sb += b[i] * w;
        sc += c[i] * w;
        sd += d[i] * w;
    }
    sums[0] += sa;
    sums[1] += sb;
    sums[2] += sc;
    sums[3] += sd;
}

/// One row of a CONV. A window is a few stretches of the input, contiguous as are their weights.
void convolve_row(const Convolution& c, int64_t y, int64_t* out) {
    const Window& w = c.window;
    const Kernel& k = w.kernel;
    const bool whole_rows = k.dilation_x == 1;
    const int64_t stretch = (whole_rows ? k.taps_x : 1) * w.ifm_depth,
                  per_row = whole_rows ? 1 : k.taps_x;
    const int64_t window_size = k.taps_y * k.taps_x * w.ifm_depth;
    for (int64_t x = 0; x < w.ofm_width; x += kPixels) {
        const int64_t pixels = w.ofm_width - x < kPixels ? w.ofm_width - x : kPixels;
        for (int64_t o = 0; o < w.ofm_depth; ++o) {
            const int16_t* weights = c.weights + y * c.weights_step + o * window_size;
            int64_t totals[kPixels] = {};
            for (int64_t s = 0; s < k.taps_y * per_row; ++s, weights += stretch) {
                const int64_t row = y * k.stride_y + s / per_row * k.dilation_y;
                const int64_t column = s % per_row * k.dilation_x;
                const int16_t* from[kPixels];
                for (int64_t p = 0; p < kPixels; ++p) {
                    const int64_t pixel = p < pixels ? x + p : x;
                    from[p] = c.input + (row * w.width + pixel * k.stride_x + column) * w.ifm_depth;
                }
                for (int64_t at = 0; at < stretch; at += c.chunk) {
                    int32_t sums[kPixels] = {};
                    const int64_t count = stretch - at < c.chunk ? stretch - at : c.chunk;
                    dot(from, weights + at, count, sums);
                    for (int p = 0; p < kPixels; ++p) {
                        totals[p] += sums[p];
                        from[p] += count;
                    }
                }
            }
            for (int64_t p = 0; p < pixels; ++p) out[(x + p) * w.ofm_depth + o] = totals[p];
        }
    }
}

/// One row of a DEPTHWISE.
void convolve_row_depthwise(const Convolution& c, int64_t y, int32_t* partial, int64_t* out) {
    const Window& w = c.window;
    const Kernel& k = w.kernel;
    const int64_t depth = w.ofm_depth, taps = k.taps_y * k.taps_x;
    for (int64_t x = 0; x < w.ofm_width; ++x) {
        int64_t* pixel = out + x * depth;
        for (int64_t o = 0; o < depth; ++o) pixel[o] = 0;
        for (int64_t first = 0; first < taps; first += c.chunk) {
            const int64_t last = taps - first < c.chunk ? taps : first + c.chunk;
            for (int64_t o = 0; o < depth; ++o) partial[o] = 0;
            for (int64_t tap = first; tap < last; ++tap) {
                const int64_t row = y * k.stride_y + tap / k.taps_x * k.dilation_y;
                const int64_t column = x * k.stride_x + tap % k.taps_x * k.dilation_x;
                const int16_t* from = c.input + (row * w.width + column) * depth;
                const int16_t* weights = c.weights + tap * depth;
                for (int64_t o = 0; o < depth; ++o) partial[o] += int32_t{from[o]} * weights[o];
            }
            for (int64_t o = 0; o < depth; ++o) pixel[o] += partial[o];
        }
    }
}

/// The largest magnitude that an operand can have after its zero point is gone, or 0 and a fault.
int64_t largest(Machine& m, const FeatureMap& map) {
    if (map.element == 4) {
        m.fail(EthosUFaultCode::kUnmodelled, "a convolution of 32-bit elements");
        return 0;
    }
    if (map.element == 2 && (map.zero_point != 0 || !map.is_signed)) {
        m.fail(EthosUFaultCode::kUnmodelled,
               "a convolution of 16-bit elements that are unsigned or have a zero point");
        return 0;
    }
    if (map.element == 1 && (map.zero_point < -128 || map.zero_point > 255)) {
        m.fail(EthosUFaultCode::kRegister, "%s_ZERO_POINT does not fit 8-bit elements", map.name);
        return 0;
    }
    return map.element == 1 ? 511 : 32768;
}

/// U85: a matrix product, whose right side, one matrix for each row, is IFM2
/// [rows][outputs][inputs].
bool read_matrices_u85(Machine& m, Convolution& c, FeatureMap& ifm2) {
    const Window& w = c.window;
    if (!read_ifm2(m, ifm2)) return false;
    const Kernel& k = w.kernel;
    if (k.height * k.width * k.stride_y * k.stride_x != 1 || w.padded ||
        w.upscale != Upscale::kNone) {
        return m.fail(EthosUFaultCode::kUnmodelled, "weights from IFM2 with a window");
    }
    c.weights_step = product({w.ofm_depth, w.ifm_depth});
    return true;
}

bool prepare(Machine& m, bool depthwise, Convolution& c, const FeatureMap& ifm2) {
    const Window& w = c.window;
    if (depthwise && w.ifm_depth != w.ofm_depth) {
        return m.fail(EthosUFaultCode::kUnmodelled,
                      "DEPTHWISE from %" PRId64 " to %" PRId64 " channels", w.ifm_depth,
                      w.ofm_depth);
    }
    const bool matrices = c.weights_step > 0;
    const int64_t left = largest(m, c.ifm), right = matrices ? largest(m, ifm2) : kLargestWeight;
    if (left == 0 || right == 0) return false;
    c.chunk = INT32_MAX / (left * right);
    const int64_t depth = w.ofm_depth, inputs = depthwise ? 1 : w.ifm_depth,
                  workers = m.workers.workers;
    const int64_t weights =
        product({depth, w.kernel.taps_y, w.kernel.taps_x, inputs, matrices ? w.ofm_height : 1});
    return m.take(weights, c.weights) &&
           (matrices || read_weights(m, w, depthwise, c.ifm.element, c.weights)) &&
           m.take(product({w.height, w.width, w.ifm_depth}), c.input) &&
           m.take(product({w.ofm_width, depth, workers}), c.rows) &&
           m.take(depthwise ? depth * workers : 0, c.partial) &&
           read_channel_scales(m, c.output, c.scales);
}

bool load_matrices(Machine& m, const Convolution& c, const FeatureMap& ifm2) {
    const Window& w = c.window;
    const auto reads = [&](const Box& block, int64_t part) {
        const int64_t first = part * w.ifm_block;
        return Box{{block.from[0], block.from[2], first},
                   {block.to[0], block.to[2], at_most(first + w.ifm_block, w.ifm_depth)}};
    };
    if (!claim_map(m, ifm2, w.ofm_height, w.ofm_depth, w.ifm_depth, false) ||
        !check_blocks(m, ifm2, read_blocks(m, w.ofm_height, w.ofm_width, w.ofm_depth),
                      (w.ifm_depth + w.ifm_block - 1) / w.ifm_block, reads)) {
        return false;
    }
    return m.for_rows(w.ofm_height, w.ofm_height * c.weights_step, [&](int64_t y, uint32_t) {
        return load_row(m, ifm2, y, w.ofm_depth, w.ifm_depth, ifm2.zero_point,
                        c.weights + y * c.weights_step);
    });
}

}  // namespace

bool run_convolution(Machine& m, bool depthwise, uint32_t mode) {
    constexpr uint32_t kWeightsFromIfm2 = 1;
    Convolution c;
    FeatureMap ifm2;
    const bool matrices = m.is_u85() && !depthwise && mode == kWeightsFromIfm2;
    if (mode != 0 && !matrices)
        return m.fail(EthosUFaultCode::kUnmodelled, "convolution mode %" PRIu32, mode);
    if (!read_window(m, c.window) || !read_ifm(m, c.ifm) ||
        (matrices && !read_matrices_u85(m, c, ifm2)) || !read_output_stage(m, true, c.output) ||
        !prepare(m, depthwise, c, ifm2)) {
        return false;
    }
    if (m.planning) return true;
    if (!depthwise) {
        const bool sparse =
            m.is_u85() && !matrices && (m.r[R16::WEIGHT_FORMAT] & kSparseWeights) != 0;
        c.window.ifm_block = ifm_block_depth(m, c.window.kernel.part_kernel, c.ifm.element, sparse);
    }
    const Window& w = c.window;
    if (matrices && !load_matrices(m, c, ifm2)) return false;
    if (!load_window<int16_t>(m, w, c.ifm, true, 0, c.input)) return false;
    const int64_t row_size = w.ofm_width * w.ofm_depth;
    const int64_t products = product(
        {row_size, w.ofm_height, w.kernel.taps_y, w.kernel.taps_x, depthwise ? 1 : w.ifm_depth});
    return m.for_rows(w.ofm_height, products, [&](int64_t y, uint32_t worker) {
        int64_t* row = c.rows + worker * row_size;
        if (depthwise) {
            convolve_row_depthwise(c, y, c.partial + worker * w.ofm_depth, row);
        } else {
            convolve_row(c, y, row);
        }
        return accumulate_row_u85(m, c.output.accumulation, AccumulationU85::Combine::kSum, y,
                                  worker, row) &&
               (!c.output.accumulation.emits ||
                (scale_row(m, c.output, c.scales, row) && put_row(m, c.output, y, worker, row)));
    });
}

}  // namespace arm_runtime::ethosu
