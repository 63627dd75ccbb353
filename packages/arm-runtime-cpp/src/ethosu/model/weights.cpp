#include "weights.hpp"

#include "fast_weight_decoder.hpp"
#include "formats.hpp"
#include "weight_decoder.hpp"

namespace arm_runtime::ethosu {

bool read_weights(Machine& m, const Window& w, bool depthwise, uint32_t ifm_element, int16_t* out) {
    return m.is_u85() ? read_weights_u85(m, w, depthwise, ifm_element, out)
                      : read_weights_u55(m, w, depthwise, ifm_element, out);
}

int64_t ifm_block_depth(const Machine& m, bool part_kernel, uint32_t ifm_element, bool sparse) {
    if (part_kernel) return 16;
    if (!m.is_u85()) return ifm_element == 2 ? 16 : 32;
    const bool narrow = m.accelerator->macs <= 256 && ofm_ublock_depth_u85(m) == 16 && !sparse;
    if (narrow || ifm_element == 4) return 32;
    return sparse && ifm_element == 1 ? 128 : 64;
}

bool decode_stream(Machine& m, R32 base, R32 length, bool fast, int64_t count, int16_t* flat) {
    if (!m.need(R16::WEIGHT_REGION, base, length)) return false;
    const int64_t bytes = m.r.address(length);
    const uint8_t* stream =
        m.readable(m.r[R16::WEIGHT_REGION], m.r.address(base), bytes, "weights");
    if (stream == nullptr ||
        !m.check_access(m.r[R16::WEIGHT_REGION], m.r.address(base), bytes, false, "weights")) {
        return false;
    }
    const auto size = static_cast<size_t>(bytes), capacity = static_cast<size_t>(count);
    const DecodedWeights decoded = fast ? decode_fast_weights(stream, size, flat, capacity)
                                        : decode_weights(stream, size, flat, capacity);
    if (decoded.problem != nullptr)
        return m.fail(EthosUFaultCode::kWeights, "the weight stream has %s", decoded.problem);
    if (decoded.count >= capacity) return true;
    return m.fail(EthosUFaultCode::kWeights,
                  "the weight stream has %" PRIu64 " weights, and %" PRId64 " are needed",
                  static_cast<uint64_t>(decoded.count), count);
}

}  // namespace arm_runtime::ethosu
