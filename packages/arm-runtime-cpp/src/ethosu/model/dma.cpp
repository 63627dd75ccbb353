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
    // A copy of bytes that nobody wrote is no use of them, so it copies the marks and faults at the
    // real use.
    EthosURegion& region = m.regions[from];
    uint8_t* marks = region.written;
    const bool to_shram = (to & kInternal) != 0;
    if (!to_shram) region.written = nullptr;
    const uint8_t* data = m.readable(from, source, length, "DMA source");
    region.written = marks;
    if (data == nullptr) return false;
    if (to_shram) {
        if (target > m.shram_size || length > m.shram_size - target) {
            return m.fail(EthosUFaultCode::kAddress,
                          "DMA target: %" PRId64 " bytes at %" PRId64
                          " are outside the on-chip memory of %" PRIu32 " bytes",
                          length, target, m.shram_size);
        }
        std::memcpy(m.shram + target, data, static_cast<size_t>(length));
        return true;
    }
    uint8_t* destination = m.writable(to & kRegionMask, target, length, "DMA target");
    if (destination == nullptr) return false;
    std::memmove(destination, data, static_cast<size_t>(length));
    uint8_t* target_marks = m.regions[to & kRegionMask].written;
    if (target_marks != nullptr && marks != nullptr && to != from) {
        std::memcpy(target_marks + target, marks + source, static_cast<size_t>(length));
    }
    return true;
}

}  // namespace arm_runtime::ethosu
