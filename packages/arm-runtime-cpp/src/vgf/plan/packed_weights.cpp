#include "packed_weights.hpp"

#include <algorithm>
#include <cstring>

namespace arm_runtime::vgf {

std::vector<uint8_t> packed_weights(const Tensor& weights, const Pieces& pieces) {
    const auto filters = static_cast<size_t>(weights.shape[0]);
    const size_t row = weights.data.size() / filters;
    std::vector<uint8_t> out(pieces.count * pieces.filters * pieces.bytes);
    for (size_t n = 0; n < filters; ++n) {
        for (size_t at = 0; at < row; at += pieces.bytes) {
            std::memcpy(&out[(at / pieces.bytes * pieces.filters + n) * pieces.bytes],
                        &weights.data[n * row + at], std::min(pieces.bytes, row - at));
        }
    }
    return out;
}

}  // namespace arm_runtime::vgf
