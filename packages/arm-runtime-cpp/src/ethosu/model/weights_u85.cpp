// The order of weights on Ethos-U85.

#include "formats.hpp"
#include "weights.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kLargestSubkernel = 8;
constexpr int64_t kInterleaved = 4;  ///< outputs that a stream has before the next one's turn

/// What all streams of a convolution share.
struct Order {
    bool depthwise;
    int64_t streams;
    int64_t ofm_depth, ifm_depth;
    int64_t ofm_block, ifm_block, ofm_ublock, ifm_ublock;
    int64_t inputs_at_once;  ///< inputs of one output that follow each other
    int64_t taps_y, taps_x, sub_y, sub_x, phases_y, phases_x;
    int64_t group;          ///< taps are padded to a multiple of this
    int64_t group_padding;  ///< and after each group as many more taps are padding

    int64_t run() const { return ofm_ublock / streams; }  ///< outputs of one micro block
    int64_t slots(int64_t taps) const {
        return round_up(taps, group) + round_up(taps, group) / group * group_padding;
    }
};

bool describe(Machine& m, const Window& w, bool depthwise, bool sparse, uint32_t ifm_element,
              Order& s) {
    const uint32_t macs = m.accelerator->macs;
    const bool wide = ifm_element == 2;
    const Kernel& k = w.kernel;
    s.depthwise = depthwise;
    s.streams = m.accelerator->weight_streams;
    s.ofm_depth = w.ofm_depth;
    s.ifm_depth = depthwise ? 1 : w.ifm_depth;
    s.ofm_block = m.r.size(R16::OFM_BLK_DEPTH_M1);
    s.ofm_ublock = ofm_ublock_depth_u85(m);
    if (s.ofm_ublock == 0 || s.ofm_ublock % (kInterleaved * s.streams) != 0) {
        m.fail(EthosUFaultCode::kRegister, "ACC_FORMAT 0x%x has no micro block",
               unsigned{m.r[R16::ACC_FORMAT]});
        return false;
    }
    s.ifm_block = ifm_block_depth(m, k.part_kernel, ifm_element, sparse);
    s.inputs_at_once = sparse ? 16 : 8;
    s.ifm_ublock = k.part_kernel && wide && !sparse ? 8 : s.ifm_block;
    s.group = !k.part_kernel ? 1 : wide || sparse ? 10 : 5;
    s.group_padding = 0;
    if (depthwise) {
        s.ifm_block = s.ifm_ublock = s.inputs_at_once = 1;
        s.group = 10;
        s.group_padding = !wide && macs <= 256 ? 0 : macs <= 512 ? 2 : 6;
    }
    s.taps_y = k.taps_y;
    s.taps_x = k.taps_x;
    s.sub_y = kLargestSubkernel / k.dilation_y;
    s.sub_x = kLargestSubkernel / k.dilation_x;
    const bool by_phase = depthwise || k.part_kernel;
    s.phases_y = by_phase ? k.stride_y : 1;
    s.phases_x = by_phase ? k.stride_x : 1;
    return true;
}

/// Weights of one stream, without walking, because a hostile program can ask for any number.
int64_t count_weights(const Order& s) {
    const int64_t outputs = sum_blocks(
        s.ofm_depth, s.ofm_block, [&](int64_t n) { return (n + s.ofm_ublock - 1) / s.ofm_ublock; });
    const int64_t inputs = sum_blocks(
        s.ifm_depth, s.ifm_block, [&](int64_t n) { return (n + s.ifm_ublock - 1) / s.ifm_ublock; });
    const int64_t taps = sum_blocks(s.taps_y, s.sub_y, [&](int64_t height) {
        return sum_blocks(s.taps_x, s.sub_x,
                          [&](int64_t width) { return s.slots(width * height); });
    });
    return product({outputs, inputs, taps, s.ifm_ublock, s.run()});
}

/// Calls `tap(y, x)` for the taps of a sub-kernel in their order: by phase of the stride, rows to
/// and fro.
template <typename F>
void walk_taps(const Order& s, int64_t first_y, int64_t first_x, F&& tap) {
    const int64_t height = at_most(s.sub_y, s.taps_y - first_y),
                  width = at_most(s.sub_x, s.taps_x - first_x);
    for (int64_t py = 0; py < s.phases_y; ++py) {
        for (int64_t px = 0; px < s.phases_x; ++px) {
            const int64_t rows = (height + s.phases_y - 1 - py) / s.phases_y,
                          columns = (width + s.phases_x - 1 - px) / s.phases_x;
            for (int64_t y = 0; y < rows; ++y) {
                for (int64_t i = 0; i < columns; ++i) {
                    const int64_t x = y % 2 == 0 ? i : columns - 1 - i;
                    tap(first_y + py + y * s.phases_y, first_x + px + x * s.phases_x);
                }
            }
        }
    }
}

/// Walks one stream in its order. Calls `run(output, y, x, input)` for the `s.run() * s.ifm_ublock`
/// weights of a tap for micro blocks that begin at that output and input, and `pad(n)` where n
/// weights are padding.
template <typename F, typename P>
void walk(const Order& s, F&& run, P&& pad) {
    const int64_t blocks = (s.ifm_depth + s.ifm_block - 1) / s.ifm_block;
    bool forward = true;
    for (int64_t ob = 0; ob < s.ofm_depth; ob += s.ofm_block, forward = !forward) {
        const int64_t outputs = at_most(s.ofm_block, s.ofm_depth - ob);
        for (int64_t b = 0; b < blocks; ++b) {
            const int64_t ib = (forward ? b : blocks - 1 - b) * s.ifm_block;
            const int64_t inputs = at_most(s.ifm_block, s.ifm_depth - ib);
            for (int64_t kx = 0; kx < s.taps_x; kx += s.sub_x) {
                for (int64_t ky = 0; ky < s.taps_y; ky += s.sub_y) {
                    for (int64_t io = 0; io < inputs; io += s.ifm_ublock) {
                        for (int64_t o = 0; o < outputs; o += s.ofm_ublock) {
                            int64_t done = 0;
                            walk_taps(s, ky, kx, [&](int64_t y, int64_t x) {
                                run(ob + o, y, x, ib + io);
                                if (++done % s.group == 0) pad(s.group_padding);
                            });
                            const int64_t missing = round_up(done, s.group) - done;
                            if (missing > 0) pad(missing + s.group_padding);
                        }
                    }
                }
            }
        }
    }
}

/// Decoded weights of one stream, in order. With the fast code all streams are in one, chunks of
/// each in turn.
class Reader {
  public:
    Reader(const int16_t* flat, int64_t stream, int64_t streams, int64_t count, int64_t chunk)
        : flat_(flat), stream_(stream), streams_(streams), count_(count), chunk_(chunk) {}
    int16_t next() {
        const int64_t first = at_ - at_ % chunk_;
        const int64_t length = at_most(chunk_, count_ - first);
        return flat_[first * streams_ + stream_ * length + at_++ - first];
    }

  private:
    const int16_t* flat_;
    int64_t stream_, streams_, count_, chunk_;
    int64_t at_ = 0;
};

/// Puts the weights of one stream in place. False if one that is padding is not 0.
bool place(const Order& s, int64_t stream, Reader reader, int16_t* out) {
    const int64_t taps = s.taps_y * s.taps_x, run_size = s.run() * s.ifm_ublock;
    int stray = 0;
    const auto run = [&](int64_t first_output, int64_t y, int64_t x, int64_t first_input) {
        const int64_t tap = y * s.taps_x + x;
        for (int64_t i = 0; i < s.ifm_ublock; i += s.inputs_at_once) {
            for (int64_t o = 0; o < s.run(); ++o) {
                const int64_t output = first_output + o % kInterleaved +
                                       (o / kInterleaved * s.streams + stream) * kInterleaved;
                for (int64_t j = 0; j < s.inputs_at_once; ++j) {
                    const int64_t input = first_input + i + j;
                    const int16_t weight = reader.next();
                    if (output >= s.ofm_depth || input >= s.ifm_depth) {
                        stray |= weight;
                    } else if (s.depthwise) {
                        out[tap * s.ofm_depth + output] = weight;
                    } else {
                        out[(output * taps + tap) * s.ifm_depth + input] = weight;
                    }
                }
            }
        }
    };
    walk(s, run, [&](int64_t padded_taps) {
        for (int64_t i = 0; i < padded_taps * run_size; ++i) stray |= reader.next();
    });
    return stray == 0;
}

}  // namespace

int64_t ofm_ublock_depth_u85(const Machine& m) {
    constexpr int64_t kUblockSizes[] = {1, 2, 4, 4, 8, 16};  // height times width
    const uint32_t ublock = m.r[R16::ACC_FORMAT] >> 8 & 7;
    return ublock > 5 ? 0 : m.accelerator->macs / (8 * kUblockSizes[ublock]);
}

bool read_weights_u85(Machine& m, const Window& w, bool depthwise, uint32_t ifm_element,
                      int16_t* out) {
    if (!m.need(R16::OFM_BLK_DEPTH_M1, R16::WEIGHT_FORMAT)) return false;
    const uint32_t format = m.r[R16::WEIGHT_FORMAT];
    if ((format & ~(kFastWeights | kSparseWeights)) != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "weight format %" PRIu32, format);
    const bool fast = (format & kFastWeights) != 0;
    Order order = {};
    if (!describe(m, w, depthwise, (format & kSparseWeights) != 0, ifm_element, order))
        return false;
    const int64_t count = count_weights(order), decoded = fast ? order.streams : 1;
    const uint64_t mark = m.workspace.mark();
    int16_t* flat = nullptr;
    if (!m.take(product({count, decoded}), flat)) return false;
    m.workspace.release(mark);  // it is needed only until the weights are in place
    if (m.planning) return true;
    constexpr R32 kBase[] = {R32::WEIGHT_BASE, R32::WEIGHT1_BASE, R32::WEIGHT2_BASE,
                             R32::WEIGHT3_BASE};
    constexpr R32 kLength[] = {R32::WEIGHT_LENGTH, R32::WEIGHT1_LENGTH, R32::WEIGHT2_LENGTH,
                               R32::WEIGHT3_LENGTH};
    const int64_t chunk = order.run() * order.ifm_ublock * order.group;
    if (fast && !decode_stream(m, kBase[0], kLength[0], true, count * decoded, flat)) return false;
    for (int64_t i = 0; i < order.streams; ++i) {
        if (!fast && !decode_stream(m, kBase[i], kLength[i], false, count, flat)) return false;
        const Reader reader =
            fast ? Reader(flat, i, order.streams, count, chunk) : Reader(flat, 0, 1, count, count);
        if (!place(order, i, reader, out))
            return m.fail(EthosUFaultCode::kWeights, "a weight that pads the stream is not 0");
    }
    return true;
}

}  // namespace arm_runtime::ethosu
