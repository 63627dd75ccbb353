// The entropy code of weights ("SWD"): Golomb-Rice coded palette indices and, between them, lengths
// of runs of zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arm_runtime::ethosu {

struct DecodedWeights {
    size_t count = 0;               ///< weights in the stream, also those beyond the capacity
    const char* problem = nullptr;  ///< what is wrong with the stream, or nullptr
};

/// Decodes a stream, in its order. Writes `capacity` weights at most; a weight is within [-255,
/// 255].
DecodedWeights decode_weights(const uint8_t* stream, size_t size, int16_t* out, size_t capacity);

}  // namespace arm_runtime::ethosu
