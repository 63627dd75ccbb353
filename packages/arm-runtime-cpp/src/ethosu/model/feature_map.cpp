#include "feature_map.hpp"

#include <cstring>

#include "kernel.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr int64_t kBrick = 16;

/// What differs between the registers of IFM, IFM2 and OFM.
struct Names {
    const char* name;
    R16 precision, region, zero_point, height0, height1, width0;
    R32 base0, base1, base2, base3, stride_x, stride_y, stride_c;
    int element_bit;
};

#define ARM_ETHOSU_MAP(P, bit)                                                             \
    Names {                                                                                \
        #P, R16::P##_PRECISION, R16::P##_REGION, R16::P##_ZERO_POINT, R16::P##_HEIGHT0_M1, \
            R16::P##_HEIGHT1_M1, R16::P##_WIDTH0_M1, R32::P##_BASE0, R32::P##_BASE1,       \
            R32::P##_BASE2, R32::P##_BASE3, R32::P##_STRIDE_X, R32::P##_STRIDE_Y,          \
            R32::P##_STRIDE_C, bit                                                         \
    }
constexpr Names kIfm = ARM_ETHOSU_MAP(IFM, 2), kIfm2 = ARM_ETHOSU_MAP(IFM2, 2),
                kOfm = ARM_ETHOSU_MAP(OFM, 1);
#undef ARM_ETHOSU_MAP

bool read_map(Machine& m, const Names& n, FeatureMap& map) {
    if (!m.need(n.precision, n.region, n.zero_point, n.height0, n.height1, n.width0, n.base0,
                n.base1, n.base2, n.base3, n.stride_x, n.stride_y, n.stride_c)) {
        return false;
    }
    const uint32_t precision = m.r[n.precision];
    const uint32_t log_element = precision >> n.element_bit & 3, layout = precision >> 6 & 3;
    if (log_element > 2)
        return m.fail(EthosUFaultCode::kRegister, "%s has elements of 64 bits", n.name);
    if (layout > 1)
        return m.fail(EthosUFaultCode::kRegister, "%s has layout %u", n.name, unsigned{layout});
    map.name = n.name;
    map.region = m.r[n.region];
    const R32 bases[] = {n.base0, n.base1, n.base2, n.base3};
    for (int i = 0; i < 4; ++i) map.base[i] = m.r.address(bases[i]);
    map.height0 = m.r.size(n.height0);
    map.height1 = m.r.size(n.height1);
    map.width0 = m.r.size(n.width0);
    map.stride_x = m.r.stride(n.stride_x);
    map.stride_y = m.r.stride(n.stride_y);
    map.stride_c = m.r.stride(n.stride_c);
    map.element = 1u << log_element;
    map.is_signed = (precision & 1) != 0;
    map.bricks = layout == 1;
    map.zero_point = m.r.signed16(n.zero_point);
    return true;
}

/// Calls `run(address, first column, columns)` for the parts of a row that lie in one tile.
template <typename F>
bool for_tiles(const FeatureMap& map, int64_t y, int64_t width, F&& run) {
    const int64_t left = width < map.width0 ? width : map.width0;
    const bool below_left = y >= map.height0, below_right = y >= map.height1;
    const int64_t left_base =
        map.base[below_left ? 2 : 0] + (below_left ? y - map.height0 : y) * map.stride_y;
    if (!run(left_base, int64_t{0}, left)) return false;
    if (left == width) return true;
    const int64_t right_base =
        map.base[below_right ? 3 : 1] + (below_right ? y - map.height1 : y) * map.stride_y;
    return run(right_base, left, width - left);
}

/// Calls `run(address, elements, offset)` for each stretch of elements that is contiguous both in
/// memory and in [width][depth].
template <typename F>
bool for_stretches(const FeatureMap& map, int64_t y, int64_t width, int64_t depth, F&& run) {
    const int64_t element = map.element;
    return for_tiles(map, y, width, [&](int64_t base, int64_t first, int64_t columns) {
        if (!map.bricks) {
            if (map.stride_x == depth * element) return run(base, columns * depth, first * depth);
            for (int64_t x = 0; x < columns; ++x) {
                if (!run(base + x * map.stride_x, depth, (first + x) * depth)) return false;
            }
            return true;
        }
        for (int64_t c = 0; c < depth; c += kBrick) {
            const int64_t count = depth - c < kBrick ? depth - c : kBrick;
            const int64_t at = base + c / kBrick * map.stride_c;
            for (int64_t x = 0; x < columns; ++x) {
                if (!run(at + x * kBrick * element, count, (first + x) * depth + c)) return false;
            }
        }
        return true;
    });
}

template <typename Element, typename T>
void convert(const uint8_t* from, int64_t count, int64_t zero_point, T* out) {
    const T minus = static_cast<T>(zero_point);
    for (int64_t i = 0; i < count; ++i) {
        Element value;
        std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
        // In unsigned arithmetic, where a 32-bit difference may wrap.
        out[i] = static_cast<T>(static_cast<uint32_t>(static_cast<T>(value)) -
                                static_cast<uint32_t>(minus));
    }
}

template <typename T>
void convert_any(const FeatureMap& map, const uint8_t* from, int64_t count, int64_t zero_point,
                 T* out) {
    switch (map.element) {
        case 1:
            return map.is_signed ? convert<int8_t>(from, count, zero_point, out)
                                 : convert<uint8_t>(from, count, zero_point, out);
        case 2:
            return map.is_signed ? convert<int16_t>(from, count, zero_point, out)
                                 : convert<uint16_t>(from, count, zero_point, out);
        default:
            return convert<int32_t>(from, count, zero_point, out);
    }
}

}  // namespace

bool read_ifm(Machine& m, FeatureMap& map) { return read_map(m, kIfm, map); }
bool read_ifm2(Machine& m, FeatureMap& map) { return read_map(m, kIfm2, map); }
bool read_ofm(Machine& m, FeatureMap& map) { return read_map(m, kOfm, map); }

template <typename T>
bool load_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
              int64_t zero_point, T* out) {
    return for_stretches(map, y, width, depth, [&](int64_t address, int64_t count, int64_t offset) {
        const uint8_t* data = m.readable(map.region, address, count * map.element, map.name);
        if (data == nullptr) return false;
        convert_any(map, data, count, zero_point, out + offset);
        return true;
    });
}
template bool load_row(Machine&, const FeatureMap&, int64_t, int64_t, int64_t, int64_t, int16_t*);
template bool load_row(Machine&, const FeatureMap&, int64_t, int64_t, int64_t, int64_t, int32_t*);

bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int32_t* in) {
    return for_stretches(map, y, width, depth, [&](int64_t address, int64_t count, int64_t offset) {
        uint8_t* data = m.writable(map.region, address, count * map.element, map.name);
        if (data == nullptr) return false;
        const int32_t* from = in + offset;
        if (map.element == 1) {
            for (int64_t i = 0; i < count; ++i) data[i] = static_cast<uint8_t>(from[i]);
        } else if (map.element == 2) {
            for (int64_t i = 0; i < count; ++i) {
                const uint16_t value = static_cast<uint16_t>(from[i]);
                std::memcpy(data + 2 * i, &value, 2);
            }
        } else {
            std::memcpy(data, from, static_cast<size_t>(count) * 4);
        }
        return true;
    });
}

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

template <typename T>
bool load_window(Machine& m, const Window& w, const FeatureMap& ifm, bool minus_zero_point, T fill,
                 T* out) {
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
