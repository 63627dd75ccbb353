#include "feature_map.hpp"

#include <cstring>
#include <type_traits>

#include "formats.hpp"

namespace arm_runtime::ethosu {
namespace {

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

/// U85 keeps some maps on chip: one that another operation makes or takes, a scalar, or no map.
bool read_storage_u85(Machine& m, const Names& n, FeatureMap& map) {
    const uint32_t storage = m.r[n.precision] >> 14 & 3;
    constexpr uint32_t kFourTiles = 0, kChained = 2;
    if (storage == kFourTiles) return true;
    if (storage == kChained) {
        map.storage = Storage::kChained;
        if (map.region >= Machine::kChains)
            return m.fail(EthosUFaultCode::kRegister, "%s has no chaining buffer %" PRIu32, n.name,
                          map.region);
        map.chain = m.chains[map.region];
        return true;
    }
    if (storage == 1) return m.fail(EthosUFaultCode::kUnmodelled, "%s has three tiles", n.name);
    map.storage = Storage::kNone;  // region and zero point need not be set
    if (n.element_bit == kOfm.element_bit) return true;
    if (!m.need(R32::OP_SCALAR)) return false;
    map.scalar = static_cast<int32_t>(m.r[R32::OP_SCALAR]);
    return true;
}

bool read_map(Machine& m, const Names& n, FeatureMap& map) {
    if (!m.need(n.precision)) return false;
    const uint32_t precision = m.r[n.precision];
    const uint32_t log_element = precision >> n.element_bit & 3, layout = precision >> 6 & 3;
    if (log_element > 2 && !m.is_u85())
        return m.fail(EthosUFaultCode::kRegister, "%s has elements of 64 bits", n.name);
    if (layout > 1)
        return m.fail(EthosUFaultCode::kRegister, "%s has layout %u", n.name, unsigned{layout});
    map.name = n.name;
    map.region = m.r[n.region];
    map.element = 1U << log_element;
    map.is_signed = (precision & 1) != 0;
    map.bricks = layout == 1;
    map.zero_point = m.r.signed16(n.zero_point);
    if (m.is_u85() && !read_storage_u85(m, n, map)) return false;
    if (map.storage != Storage::kNone && !m.need(n.region, n.zero_point)) return false;
    if (map.storage != Storage::kRegion) return true;
    if (!m.need(n.height0, n.height1, n.width0, n.base0, n.base1, n.base2, n.base3, n.stride_x,
                n.stride_y, n.stride_c)) {
        return false;
    }
    const R32 bases[] = {n.base0, n.base1, n.base2, n.base3};
    for (int i = 0; i < 4; ++i) map.base[i] = m.r.address(bases[i]);
    map.height0 = m.r.size(n.height0);
    map.height1 = m.r.size(n.height1);
    map.width0 = m.r.size(n.width0);
    map.stride_x = m.r.stride(n.stride_x);
    map.stride_y = m.r.stride(n.stride_y);
    map.stride_c = m.r.stride(n.stride_c);
    return true;
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

/// In unsigned arithmetic, where a difference may wrap.
template <typename Element, typename T>
T subtract(Element value, T minus) {
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(static_cast<Wide>(static_cast<T>(value)) - static_cast<Wide>(minus));
}

template <typename Element, typename T>
void convert(const uint8_t* from, int64_t count, T minus, T* out) {
    for (int64_t i = 0; i < count; ++i) {
        Element value;
        std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
        out[i] = subtract(value, minus);
    }
}

template <typename T>
void convert_any(const FeatureMap& map, const uint8_t* from, int64_t count, T minus, T* out) {
    switch (map.element) {
        case 1:
            return map.is_signed ? convert<int8_t>(from, count, minus, out)
                                 : convert<uint8_t>(from, count, minus, out);
        case 2:
            return map.is_signed ? convert<int16_t>(from, count, minus, out)
                                 : convert<uint16_t>(from, count, minus, out);
        case 4:
            return convert<int32_t>(from, count, minus, out);
        default:
            return convert<int64_t>(from, count, minus, out);
    }
}

}  // namespace

bool read_ifm(Machine& m, FeatureMap& map) { return read_map(m, kIfm, map); }
bool read_ifm2(Machine& m, FeatureMap& map) { return read_map(m, kIfm2, map); }
bool read_ofm(Machine& m, FeatureMap& map) { return read_map(m, kOfm, map); }

bool claim_map(Machine& m, const FeatureMap& map, int64_t height, int64_t width, int64_t depth,
               bool write) {
    if (map.storage != Storage::kRegion || m.planning) return true;
    const int64_t element = map.element, brick = kBrick * element;
    // Distances from the first byte of a tile to the last element's along each axis.
    const int64_t step_x = map.bricks ? brick : map.stride_x;
    const int64_t along_c = map.bricks ? (depth - 1) / kBrick * map.stride_c : 0;
    const int64_t run = map.bricks ? at_most(depth, kBrick) * element : depth * element;
    const int64_t left = at_most(width, map.width0), right = width - left;
    const int64_t heights[] = {at_most(height, map.height0), at_most(height, map.height1),
                               height - map.height0, height - map.height1};
    for (int tile = 0; tile < 4; ++tile) {
        const int64_t rows = heights[tile], columns = tile % 2 == 0 ? left : right;
        if (rows <= 0 || columns <= 0) continue;
        int64_t low = map.base[tile], high = low + run;
        for (const int64_t distance : {(rows - 1) * map.stride_y, (columns - 1) * step_x, along_c})
            (distance < 0 ? low : high) += distance;
        if (!m.check_access(map.region, low, high - low, write, map.name)) return false;
    }
    return true;
}

Blocks read_blocks(const Machine& m, int64_t height, int64_t width, int64_t depth) {
    Blocks made = {{height, width, depth}, {height, width, depth}};
    constexpr R16 kSizes[] = {R16::OFM_BLK_HEIGHT_M1, R16::OFM_BLK_WIDTH_M1, R16::OFM_BLK_DEPTH_M1};
    for (int axis = 0; axis < 3; ++axis) {
        if (m.r.has(kSizes[axis])) made.block[axis] = m.r.size(kSizes[axis]);
    }
    return made;
}

bool fail_blocks(Machine& m, const FeatureMap& map, int64_t job, int64_t from_end) {
    return m.fail(EthosUFaultCode::kHazard,
                  "%s: job %" PRId64 " reads what the operation of command %" PRIu32
                  " writes %" PRId64
                  " blocks before its end: a BLOCKDEP of %u lets it begin too "
                  "early",
                  map.name, job, m.before.command_index, from_end, unsigned{m.r[R16::BLOCKDEP]});
}

template <typename T>
bool load_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
              int64_t zero_point, T* out) {
    const T minus = static_cast<T>(zero_point);
    if (map.element > sizeof(T))
        return m.fail(EthosUFaultCode::kUnmodelled, "%s has elements of %" PRIu32 " bits", map.name,
                      8 * map.element);
    if (map.storage == Storage::kNone) {
        for (int64_t i = 0; i < width * depth; ++i) out[i] = subtract(map.scalar, minus);
        return true;
    }
    if (map.storage == Storage::kChained) {
        if (!map.chain.is(map.chain.height, width, depth) || y >= map.chain.height)
            return m.fail(EthosUFaultCode::kRegister,
                          "%s: chaining buffer %" PRIu32 " holds %" PRId64 "x%" PRId64 "x%" PRId64
                          " elements, not row %" PRId64 " of %" PRId64 "x%" PRId64,
                          map.name, map.region, map.chain.height, map.chain.width, map.chain.depth,
                          y, width, depth);
        const int32_t* from = map.chain.data + y * width * depth;
        for (int64_t i = 0; i < width * depth; ++i) out[i] = subtract(from[i], minus);
        return true;
    }
    return for_stretches(map, y, width, depth, [&](int64_t address, int64_t count, int64_t offset) {
        const uint8_t* data = m.readable(map.region, address, count * map.element, map.name);
        if (data == nullptr) return false;
        convert_any(map, data, count, minus, out + offset);
        return true;
    });
}
template bool load_row(Machine&, const FeatureMap&, int64_t, int64_t, int64_t, int64_t, int16_t*);
template bool load_row(Machine&, const FeatureMap&, int64_t, int64_t, int64_t, int64_t, int32_t*);
template bool load_row(Machine&, const FeatureMap&, int64_t, int64_t, int64_t, int64_t, int64_t*);

bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int32_t* in) {
    if (map.storage == Storage::kNone) return true;
    if (map.storage == Storage::kChained) {
        const auto count = static_cast<size_t>(width * depth);
        std::memcpy(map.chain.data + y * width * depth, in, count * sizeof(*in));
        return true;
    }
    return for_stretches(map, y, width, depth, [&](int64_t address, int64_t count, int64_t offset) {
        uint8_t* data = m.writable(map.region, address, count * map.element, map.name);
        if (data == nullptr) return false;
        const int32_t* from = in + offset;
        if (map.element == 1) {
            for (int64_t i = 0; i < count; ++i) data[i] = static_cast<uint8_t>(from[i]);
        } else if (map.element == 2) {
            for (int64_t i = 0; i < count; ++i) {
                const auto value = static_cast<uint16_t>(from[i]);
                std::memcpy(data + 2 * i, &value, 2);
            }
        } else {
            std::memcpy(data, from, static_cast<size_t>(count) * 4);
        }
        return true;
    });
}

bool store_row(Machine& m, const FeatureMap& map, int64_t y, int64_t width, int64_t depth,
               const int64_t* in) {
    return for_stretches(map, y, width, depth, [&](int64_t address, int64_t count, int64_t offset) {
        const int64_t bytes = count * static_cast<int64_t>(sizeof(*in));
        uint8_t* data = m.writable(map.region, address, bytes, map.name);
        if (data == nullptr) return false;
        std::memcpy(data, in + offset, static_cast<size_t>(bytes));
        return true;
    });
}

bool store_element(Machine& m, const FeatureMap& map, int64_t y, int64_t x, int64_t c,
                   int32_t value) {
    const bool right = x >= map.width0, below = y >= (right ? map.height1 : map.height0);
    if (right) x -= map.width0;
    if (below) y -= right ? map.height1 : map.height0;
    const int64_t element = map.element;
    const int64_t inside = map.bricks
                               ? c / kBrick * map.stride_c + (x * kBrick + c % kBrick) * element
                               : x * map.stride_x + c * element;
    const int64_t address = map.base[(below ? 2 : 0) + (right ? 1 : 0)] + y * map.stride_y + inside;
    uint8_t* data = m.writable(map.region, address, element, map.name);
    if (data == nullptr) return false;
    std::memcpy(data, &value, static_cast<size_t>(element));
    return true;
}

}  // namespace arm_runtime::ethosu
