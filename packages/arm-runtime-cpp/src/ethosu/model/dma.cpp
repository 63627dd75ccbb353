// DMA_START: a copy between regions, or of a table into on-chip memory.
#include <cinttypes>
#include <cstring>

#include "machine.hpp"

namespace arm_runtime::ethosu {

bool run_dma(Machine& m) {
    constexpr uint32_t kInternal = 1 << 8, kRegionMask = 7;
    if (!m.need(R16::DMA0_SRC_REGION, R16::DMA0_DST_REGION, R32::DMA0_SRC, R32::DMA0_DST,
                R32::DMA0_LEN))
        return false;
    const uint32_t from = m.r[R16::DMA0_SRC_REGION], to = m.r[R16::DMA0_DST_REGION];
    if ((from & ~kRegionMask) != 0 || (to & ~(kRegionMask | kInternal)) != 0) {
        return m.fail(EthosUFaultCode::kUnmodelled,
                      "a DMA that is not one run of bytes out of external memory");
    }
    if (m.planning) return true;
    const int64_t source = m.r.address(R32::DMA0_SRC), target = m.r.address(R32::DMA0_DST);
    const int64_t length = m.r.address(R32::DMA0_LEN);
    // A copy of bytes that nobody wrote is no use of them, so it copies the marks; the fault comes
    // at the real use.
    uint8_t* source_marks = m.regions[from].written;
    m.regions[from].written = nullptr;
    const uint8_t* data = m.readable(from, source, length, "DMA source");
    m.regions[from].written = source_marks;
    if (data == nullptr) return false;
    if ((to & kInternal) != 0) {
        if (target > m.shram_size || length > m.shram_size - target) {
            return m.fail(EthosUFaultCode::kAddress,
                          "DMA target: %" PRId64 " bytes at %" PRId64
                          " are outside the on-chip memory of %" PRIu32 " bytes",
                          length, target, m.shram_size);
        }
        std::memcpy(m.shram + target, data, static_cast<size_t>(length));
        return true;
    }
    EthosURegion& destination = m.regions[to & kRegionMask];
    uint8_t* target_marks = destination.written;
    destination.written = nullptr;
    uint8_t* out = m.writable(to & kRegionMask, target, length, "DMA target");
    destination.written = target_marks;
    if (out == nullptr) return false;
    std::memmove(out, data, static_cast<size_t>(length));
    if (target_marks == nullptr) return true;
    if (source_marks == nullptr) {
        std::memset(target_marks + target, 1, static_cast<size_t>(length));
    } else {
        std::memmove(target_marks + target, source_marks + source, static_cast<size_t>(length));
    }
    return true;
}

}  // namespace arm_runtime::ethosu
