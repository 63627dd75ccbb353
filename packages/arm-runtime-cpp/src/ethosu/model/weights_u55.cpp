// The order of weights on Ethos-U55 and Ethos-U65.
#include "weights.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kIfmUblock = 8;
constexpr int64_t kLargestSubkernel = 8;

/// The stream of one core.
struct Stream {
    bool depthwise, part_kernel;
    int64_t ofm_depth, ifm_depth;  ///< of this core
    int64_t ofm_block, ifm_block, ofm_ublock;
    int64_t taps_y, taps_x, sub_y, sub_x;
    int64_t padding;  ///< taps of a sub-kernel are padded to a multiple of this
};

Stream describe(const Machine& m, const Window& w, bool depthwise, uint32_t ifm_element,
                int64_t cores, int64_t core) {
    const Kernel& k = w.kernel;
    const int64_t block = m.r.size(R16::OFM_BLK_DEPTH_M1), n = m.accelerator->weight_streams;
    Stream s{};
    s.depthwise = depthwise;
    s.part_kernel = k.part_kernel;
    s.ofm_depth = (w.ofm_depth - core + cores - 1) / cores;
    s.ifm_depth = depthwise ? 1 : w.ifm_depth;
    s.ofm_block = (block + n - 1 - core) / n;
    s.ifm_block = ifm_block_depth(m, k.part_kernel, ifm_element, false);
    s.ofm_ublock = m.accelerator->ofm_ublock;
    s.taps_y = k.taps_y;
    s.taps_x = k.taps_x;
    s.sub_y = kLargestSubkernel / k.dilation_y;
    s.sub_x = kLargestSubkernel / k.dilation_x;
    s.padding = depthwise ? 4 : !k.part_kernel ? 1 : ifm_element == 2 ? 2 : 4;
    return s;
}

/// Walks a stream in its order: calls `run` with what is common to each run of weights of one micro
/// block of outputs, one tap, and `kIfmUblock` inputs (one if depthwise): first output, outputs of
/// the block that remain, tap (or -1, 0 where it is padding), first input.
template <typename F>
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one loop for each level of the order
void walk(const Stream& s, F&& run) {
    for (int64_t ob = 0; ob < s.ofm_depth; ob += s.ofm_block) {
        const int64_t outputs = at_most(s.ofm_block, s.ofm_depth - ob);
        for (int64_t ib = 0; ib < s.ifm_depth; ib += s.ifm_block) {
            const int64_t inputs = s.depthwise     ? kIfmUblock
                                   : s.part_kernel ? at_most(s.ifm_block, s.ifm_depth - ib)
                                                   : s.ifm_block;
            const int64_t outer = s.part_kernel ? inputs : 1, inner = s.part_kernel ? 1 : inputs;
            for (int64_t y = 0; y < s.taps_y; y += s.sub_y) {
                const int64_t height = at_most(s.sub_y, s.taps_y - y);
                for (int64_t x = 0; x < s.taps_x; x += s.sub_x) {
                    const int64_t width = at_most(s.sub_x, s.taps_x - x);
                    const int64_t taps = (width * height + s.padding - 1) / s.padding * s.padding;
                    for (int64_t io = 0; io < outer; io += kIfmUblock) {
                        for (int64_t o = 0; o < outputs; o += s.ofm_ublock) {
                            for (int64_t tap = 0; tap < taps; ++tap) {
                                const bool real = tap < width * height;
                                for (int64_t ii = 0; ii < inner; ii += kIfmUblock) {
                                    run(ob + o, outputs - o, real ? y + tap / width : -1,
                                        real ? x + tap % width : 0, ib + io + ii);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// As many as `walk` passes; without walking, because a hostile program can ask for any number.
int64_t count_weights(const Stream& s) {
    const int64_t outputs =
        sum_blocks(s.ofm_depth, s.ofm_block, [&](int64_t n) { return round_up(n, s.ofm_ublock); });
    const int64_t inputs = s.depthwise ? 1 : sum_blocks(s.ifm_depth, s.ifm_block, [&](int64_t n) {
        return s.part_kernel ? round_up(n, kIfmUblock) : s.ifm_block;
    });
    const int64_t taps = sum_blocks(s.taps_y, s.sub_y, [&](int64_t height) {
        return sum_blocks(s.taps_x, s.sub_x,
                          [&](int64_t width) { return round_up(width * height, s.padding); });
    });
    return product({outputs, inputs, taps});
}

/// Puts decoded weights in place. False if one that is padding is not 0.
bool place(const Stream& s, const int16_t* flat, int64_t cores, int64_t core, int64_t all_outputs,
           int16_t* out) {
    const int64_t run_inputs = s.depthwise ? 1 : kIfmUblock, taps = s.taps_y * s.taps_x;
    int stray = 0;
    walk(s, [&](int64_t first, int64_t left, int64_t y, int64_t x, int64_t input) {
        for (int64_t o = 0; o < s.ofm_ublock; ++o, flat += run_inputs) {
            const int64_t inputs =
                y < 0 || o >= left ? 0 : at_most(run_inputs, s.ifm_depth - input);
            const int64_t output = (first + o) * cores + core, tap = y * s.taps_x + x;
            if (inputs > 0) {
                int16_t* to = s.depthwise ? out + tap * all_outputs + output
                                          : out + (output * taps + tap) * s.ifm_depth + input;
                for (int64_t i = 0; i < inputs; ++i) to[i] = flat[i];
            }
            for (int64_t i = inputs < 0 ? 0 : inputs; i < run_inputs; ++i) stray |= flat[i];
        }
    });
    return stray == 0;
}

}  // namespace

bool read_weights_u55(Machine& m, const Window& w, bool depthwise, uint32_t ifm_element,
                      int16_t* out) {
    if (!m.need(R16::OFM_BLK_DEPTH_M1)) return false;
    const int64_t cores = w.ofm_depth == 1 ? 1 : m.accelerator->weight_streams;
    for (int64_t core = 0; core < cores; ++core) {
        const Stream s = describe(m, w, depthwise, ifm_element, cores, core);
        if (s.ofm_block < 1)
            return m.fail(EthosUFaultCode::kRegister,
                          "OFM_BLK_DEPTH_M1 leaves a core without channels");
        const uint64_t mark = m.workspace.mark();
        const int64_t count = count_weights(s);
        int16_t* flat = nullptr;
        if (!m.take(count, flat)) return false;
        m.workspace.release(mark);  // it is needed only until the weights are in place
        if (m.planning) continue;
        const R32 base = core == 0 ? R32::WEIGHT_BASE : R32::WEIGHT1_BASE;
        const R32 length = core == 0 ? R32::WEIGHT_LENGTH : R32::WEIGHT1_LENGTH;
        if (!decode_stream(m, base, length, false, count, flat)) return false;
        if (!place(s, flat, cores, core, w.ofm_depth, out))
            return m.fail(EthosUFaultCode::kWeights, "a weight that pads the stream is not 0");
    }
    return true;
}

}  // namespace arm_runtime::ethosu
