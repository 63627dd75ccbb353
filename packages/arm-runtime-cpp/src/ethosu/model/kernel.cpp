#include "kernel.hpp"

namespace arm_runtime::ethosu {

bool read_window(Machine& m, Window& w) {
    if (!m.need(R16::KERNEL_HEIGHT_M1, R16::KERNEL_WIDTH_M1, R16::KERNEL_STRIDE, R16::OFM_HEIGHT_M1,
                R16::OFM_WIDTH_M1, R16::OFM_DEPTH_M1, R16::IFM_DEPTH_M1, R16::IFM_PAD_TOP,
                R16::IFM_PAD_LEFT, R16::IFM_PAD_BOTTOM, R16::IFM_PAD_RIGHT)) {
        return false;
    }
    const uint32_t stride = m.r[R16::KERNEL_STRIDE], upscale = m.r[R16::IFM_UPSCALE];
    constexpr uint32_t kKnownBits = 0x0FDF;
    if ((stride & ~kKnownBits) != 0)
        return m.fail(EthosUFaultCode::kUnmodelled, "KERNEL_STRIDE has a bit without meaning");
    if (upscale > 2)
        return m.fail(EthosUFaultCode::kRegister, "IFM_UPSCALE has no mode %u", unsigned{upscale});
    Kernel& k = w.kernel;
    k.height = m.r.size(R16::KERNEL_HEIGHT_M1);
    k.width = m.r.size(R16::KERNEL_WIDTH_M1);
    k.stride_x = 1 + (stride & 1) + 2 * (stride >> 6 & 7);
    k.stride_y = 1 + (stride >> 1 & 1) + 2 * (stride >> 9 & 7);
    k.part_kernel = (stride >> 2 & 1) != 0;
    k.dilation_x = 1 + (stride >> 3 & 1);
    k.dilation_y = 1 + (stride >> 4 & 1);
    k.taps_y = (k.height - 1) / k.dilation_y + 1;
    k.taps_x = (k.width - 1) / k.dilation_x + 1;
    w.ofm_height = m.r.size(R16::OFM_HEIGHT_M1);
    w.ofm_width = m.r.size(R16::OFM_WIDTH_M1);
    w.ofm_depth = m.r.size(R16::OFM_DEPTH_M1);
    w.ifm_depth = m.r.size(R16::IFM_DEPTH_M1);
    w.pad_top = m.r[R16::IFM_PAD_TOP];
    w.pad_left = m.r[R16::IFM_PAD_LEFT];
    const int64_t bottom = m.r[R16::IFM_PAD_BOTTOM], right = m.r[R16::IFM_PAD_RIGHT];
    w.padded = w.pad_top + w.pad_left + bottom + right > 0;
    w.height = (w.ofm_height - 1) * k.stride_y + k.height;
    w.width = (w.ofm_width - 1) * k.stride_x + k.width;
    w.upscale = static_cast<Upscale>(upscale);
    w.rows = w.height - w.pad_top - bottom;
    w.columns = w.width - w.pad_left - right;
    if (w.rows < 1 || w.columns < 1)
        return m.fail(EthosUFaultCode::kRegister, "the windows cover nothing but padding");
    const int64_t factor = w.upscale == Upscale::kNone ? 1 : 2;
    w.ifm_height = (w.rows + factor - 1) / factor;
    w.ifm_width = (w.columns + factor - 1) / factor;
    // An odd part of an upscaled map has one row or column more, which stands where padding would.
    if (factor * w.ifm_height + w.pad_top <= w.height) w.rows = factor * w.ifm_height;
    if (factor * w.ifm_width + w.pad_left <= w.width) w.columns = factor * w.ifm_width;
    return true;
}

namespace {

/// What of the IFM, as it is in memory, a job reads. Vela leaves no gaps between the parts that
/// jobs read, not even where the stride exceeds the kernel, and chooses BLOCKDEP by that.
Box read_by(const Window& w, const Blocks& blocks, const Box& block, int64_t part) {
    const Kernel& k = w.kernel;
    const int64_t factor = w.upscale == Upscale::kNone ? 1 : 2;
    const int64_t strides[] = {k.stride_y, k.stride_x}, taps[] = {k.height, k.width},
                  pads[] = {w.pad_top, w.pad_left}, sizes[] = {w.ifm_height, w.ifm_width};
    Box box{};
    for (int axis = 0; axis < 2; ++axis) {
        const int64_t number = block.from[axis] / blocks.block[axis],
                      gaps = number * at_least(strides[axis] - taps[axis], 0),
                      first = block.from[axis] * strides[axis] - pads[axis] - gaps,
                      end = first + (block.to[axis] - block.from[axis] - 1) * strides[axis] +
                            taps[axis];
        box.from[axis] = (first < 0 ? 0 : first) / factor;
        box.to[axis] = at_most((end + factor - 1) / factor, sizes[axis]);
    }
    box.from[2] = w.ifm_block == 0 ? block.from[2] : part * w.ifm_block;
    box.to[2] = w.ifm_block == 0 ? block.to[2] : at_most(box.from[2] + w.ifm_block, w.ifm_depth);
    return box;
}

bool check_window(Machine& m, const Window& w, const FeatureMap& ifm) {
    const int64_t parts = w.ifm_block == 0 ? 1 : (w.ifm_depth + w.ifm_block - 1) / w.ifm_block;
    const Blocks blocks = read_blocks(m, w.ofm_height, w.ofm_width, w.ofm_depth);
    return check_blocks(m, ifm, blocks, parts, [&](const Box& block, int64_t part) {
        return read_by(w, blocks, block, part);
    });
}

}  // namespace

template <typename T>
bool load_window(Machine& m, const Window& w, const FeatureMap& ifm, bool minus_zero_point, T fill,
                 T* out) {
    if (!claim_map(m, ifm, w.ifm_height, w.ifm_width, w.ifm_depth, false) ||
        !check_window(m, w, ifm)) {
        return false;
    }
    const int64_t zero_point = minus_zero_point ? ifm.zero_point : 0, depth = w.ifm_depth,
                  row_size = w.width * depth;
    return m.for_rows(w.height, product({w.height, row_size}), [&](int64_t y, uint32_t) {
        T* row = out + y * row_size;
        const int64_t source = y - w.pad_top;
        const bool zeros = w.upscale == Upscale::kZeros;
        if (source < 0 || source >= w.rows || (zeros && source % 2 != 0)) {
            for (int64_t i = 0; i < row_size; ++i) row[i] = fill;
            return true;
        }
        const int64_t first = w.pad_left * depth, end = (w.pad_left + w.columns) * depth;
        for (int64_t i = 0; i < first; ++i) row[i] = fill;
        for (int64_t i = end; i < row_size; ++i) row[i] = fill;
        T* start = row + first;
        if (w.upscale == Upscale::kNone)
            return load_row(m, ifm, source, w.columns, depth, zero_point, start);
        if (!load_row(m, ifm, source / 2, w.ifm_width, depth, zero_point, start)) return false;
        for (int64_t x = w.columns - 1; x > 0;
             --x) {  // from the right, so that nothing is overwritten too early
            for (int64_t c = 0; c < depth; ++c)
                start[x * depth + c] = zeros && x % 2 != 0 ? fill : start[x / 2 * depth + c];
        }
        return true;
    });
}
template bool load_window(Machine&, const Window&, const FeatureMap&, bool, int16_t, int16_t*);
template bool load_window(Machine&, const Window&, const FeatureMap&, bool, int32_t, int32_t*);

}  // namespace arm_runtime::ethosu
