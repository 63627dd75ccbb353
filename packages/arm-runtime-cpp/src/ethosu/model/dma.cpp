// DMA_START: a copy between regions, or of a table into on-chip memory.
#include <cstring>

#include "formats.hpp"
#include "machine.hpp"

namespace arm_runtime::ethosu {
namespace {

constexpr uint32_t kRegionMask = 7, kInternal = 1 << 8, kIndexed = 1 << 11;
constexpr uint32_t kDimensionsAt = 9;  // 0 for one, 2 for three

/// One of the two sides of a copy.
struct Side {
    uint32_t region = 0;
    bool internal = false, indexed = false;
    int64_t base = 0, inner_stride = 0, outer_stride = 0;

    int64_t at(int64_t outer, int64_t inner, int64_t index) const {
        return base + outer * outer_stride + (indexed ? index : inner) * inner_stride;
    }
};

struct Copy {
    Side source, target;
    int64_t length = 0, inner = 1, outer = 1;
    uint32_t index_region = 0;
    int64_t indices = 0, largest_index = 0, index_skip = 0;
};

bool read_extensions_u85(Machine& m, uint32_t from, uint32_t to, Copy& copy) {
    const uint32_t dimensions = (from >> kDimensionsAt & 3) + 1;
    if (dimensions > 3) return m.fail(EthosUFaultCode::kRegister, "a DMA of four dimensions");
    copy.source.indexed = (from & kIndexed) != 0;
    copy.target.indexed = (to & kIndexed) != 0;
    const bool indexed = copy.source.indexed || copy.target.indexed;
    if (dimensions > 1 || indexed) {
        if (!m.need(R16::DMA0_SIZE0)) return false;
        copy.inner = m.r[R16::DMA0_SIZE0];
    }
    if ((dimensions > 1 || copy.source.indexed) && !m.need(R32::DMA0_SRC_STRIDE0)) return false;
    if ((dimensions > 1 || copy.target.indexed) && !m.need(R32::DMA0_DST_STRIDE0)) return false;
    if (dimensions > 1 || copy.source.indexed)
        copy.source.inner_stride = m.r.stride(R32::DMA0_SRC_STRIDE0);
    if (dimensions > 1 || copy.target.indexed)
        copy.target.inner_stride = m.r.stride(R32::DMA0_DST_STRIDE0);
    if (dimensions > 2) {
        if (!m.need(R16::DMA0_SIZE1, R32::DMA0_SRC_STRIDE1, R32::DMA0_DST_STRIDE1)) return false;
        copy.outer = m.r[R16::DMA0_SIZE1];
        copy.source.outer_stride = m.r.stride(R32::DMA0_SRC_STRIDE1);
        copy.target.outer_stride = m.r.stride(R32::DMA0_DST_STRIDE1);
    }
    if (!indexed) return true;
    if (!m.need(R16::DMA0_IDX_REGION, R32::DMA0_IDX, R32::DMA0_IDX_MAX)) return false;
    copy.index_region = m.r[R16::DMA0_IDX_REGION];
    copy.indices = m.r.address(R32::DMA0_IDX);
    const uint32_t largest = m.r[R32::DMA0_IDX_MAX];
    copy.largest_index = largest > INT32_MAX ? INT32_MAX : largest;
    if (copy.outer > 1) {
        if (!m.need(R32::DMA0_IDX_SKIP1)) return false;
        copy.index_skip = m.r.stride(R32::DMA0_IDX_SKIP1);
    }
    return true;
}

bool read_copy(Machine& m, Copy& copy) {
    if (!m.need(R16::DMA0_SRC_REGION, R16::DMA0_DST_REGION, R32::DMA0_SRC, R32::DMA0_DST,
                R32::DMA0_LEN)) {
        return false;
    }
    const uint32_t from = m.r[R16::DMA0_SRC_REGION], to = m.r[R16::DMA0_DST_REGION];
    const uint32_t extensions = m.is_u85() ? 3U << kDimensionsAt | kIndexed : 0;
    if ((from & ~(kRegionMask | extensions)) != 0 ||
        (to & ~(kRegionMask | kInternal | extensions)) != 0) {
        return m.fail(EthosUFaultCode::kUnmodelled,
                      m.is_u85() ? "a DMA out of on-chip memory"
                                 : "a DMA that is not one run of bytes out of external memory");
    }
    copy.source.region = from & kRegionMask;
    copy.source.base = m.r.address(R32::DMA0_SRC);
    copy.target.region = to & kRegionMask;
    copy.target.internal = (to & kInternal) != 0;
    copy.target.base = m.r.address(R32::DMA0_DST);
    copy.length = m.r.address(R32::DMA0_LEN);
    return !m.is_u85() || read_extensions_u85(m, from, to, copy);
}

/// Notes for the hazards all that one side may touch.
bool claim_side(Machine& m, const Copy& copy, const Side& side, bool write, const char* what) {
    const int64_t inner = side.indexed ? copy.largest_index : copy.inner - 1;
    int64_t low = side.base, high = side.base + copy.length;
    for (const int64_t distance : {inner * side.inner_stride, (copy.outer - 1) * side.outer_stride})
        (distance < 0 ? low : high) += distance;
    return m.check_access(side.internal ? kOnChip : side.region, low, high - low, write, what);
}

bool check_access(Machine& m, const Copy& copy) {
    if (copy.inner < 1 || copy.outer < 1) return true;
    const bool indexed = copy.source.indexed || copy.target.indexed;
    const int64_t indices = copy.outer * copy.inner * 4 + (copy.outer - 1) * copy.index_skip;
    return (!indexed ||
            m.check_access(copy.index_region, copy.indices, indices, false, "DMA index")) &&
           claim_side(m, copy, copy.source, false, "DMA source") &&
           claim_side(m, copy, copy.target, true, "DMA target");
}

bool read_index(Machine& m, const Copy& copy, int64_t at, int64_t& index) {
    const uint8_t* bytes = m.readable(copy.index_region, at, 4, "DMA index");
    if (bytes == nullptr) return false;
    int32_t value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    index = value;
    return (value >= 0 && value <= copy.largest_index) ||
           m.fail(EthosUFaultCode::kAddress, "DMA index %" PRId32 " is beyond %" PRId64, value,
                  copy.largest_index);
}

/// Copies a run of bytes. A copy of bytes that nobody wrote is no use of them, so it copies the
/// marks; the fault comes at the real use.
bool copy_run(Machine& m, const Copy& copy, int64_t from, int64_t to) {
    const auto length = static_cast<size_t>(copy.length);
    const uint8_t* data = m.addressable(copy.source.region, from, copy.length, "DMA source");
    if (data == nullptr) return false;
    if (copy.target.internal) {
        const int64_t size = m.accelerator->on_chip_size;
        if (to < 0 || to > size || copy.length > size - to) {
            return m.fail(EthosUFaultCode::kAddress,
                          "DMA target: %" PRId64 " bytes at %" PRId64
                          " are outside the on-chip memory of %" PRId64 " bytes",
                          copy.length, to, size);
        }
        std::memcpy(m.on_chip + to, data, length);
        return true;
    }
    uint8_t* out = m.writable(copy.target.region, to, copy.length, "DMA target");
    if (out == nullptr) return false;
    std::memmove(out, data, length);
    const uint8_t* marks = m.regions[copy.source.region].written;
    uint8_t* target_marks = m.regions[copy.target.region].written;
    if (marks != nullptr && target_marks != nullptr)
        std::memmove(target_marks + to, marks + from, length);
    return true;
}

}  // namespace

bool run_dma(Machine& m) {
    Copy copy;
    if (!read_copy(m, copy)) return false;
    if (m.planning || copy.length == 0) return true;
    if (!check_access(m, copy)) return false;
    const bool indexed = copy.source.indexed || copy.target.indexed;
    int64_t index_at = copy.indices;
    for (int64_t outer = 0; outer < copy.outer; ++outer, index_at += copy.index_skip) {
        for (int64_t inner = 0; inner < copy.inner; ++inner) {
            int64_t index = 0;
            if (indexed && !read_index(m, copy, index_at, index)) return false;
            if (indexed) index_at += 4;
            if (!copy_run(m, copy, copy.source.at(outer, inner, index),
                          copy.target.at(outer, inner, index))) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace arm_runtime::ethosu
