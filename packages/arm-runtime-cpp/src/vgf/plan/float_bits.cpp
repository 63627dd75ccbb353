#include "float_bits.hpp"

#include <cstring>

namespace arm_runtime::vgf {

int32_t float_bits(const Tensor& tensor, size_t index) {
    uint32_t bits = 0;
    if (tensor.type == ElementType::kFloat32) {
        std::memcpy(&bits, tensor.data.data() + 4 * index, 4);
    } else {
        uint16_t half = 0;
        std::memcpy(&half, tensor.data.data() + 2 * index, 2);
        if (tensor.type == ElementType::kBFloat16) {
            bits = static_cast<uint32_t>(half) << 16;
        } else {
            const uint32_t sign = (half & 0x8000U) << 16;
            const uint32_t magnitude = half & 0x7fffU;
            if (magnitude >= 0x7c00U) {
                bits = sign | 0x7f800000U | (magnitude & 0x3ffU) << 13;
            } else if (magnitude >= 0x400U) {
                bits = sign | ((magnitude << 13) + 0x38000000U);
            } else {
                const float value = static_cast<float>(magnitude) * 0x1p-24F;
                std::memcpy(&bits, &value, 4);
                bits |= sign;
            }
        }
    }
    int32_t out = 0;
    std::memcpy(&out, &bits, 4);
    return out;
}

}  // namespace arm_runtime::vgf
