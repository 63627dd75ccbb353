// The other code of weights on Ethos-U85 ("FWD"): a header, and then as many bits for each weight.
#pragma once

#include "weight_decoder.hpp"

namespace arm_runtime::ethosu {

/// As `decode_weights`.
DecodedWeights decode_fast_weights(const uint8_t* stream, size_t size, int16_t* out,
                                   size_t capacity);

}  // namespace arm_runtime::ethosu
