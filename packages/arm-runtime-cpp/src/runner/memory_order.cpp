#include "memory_order.hpp"

#include <cstring>

namespace arm_runtime {

std::vector<int32_t> strides_of(const std::vector<int32_t>& shape,
                                const std::vector<uint8_t>& order) {
    std::vector<int32_t> strides(shape.size());
    int32_t stride = 1;
    for (size_t i = order.size(); i > 0; --i) {
        strides[order[i - 1]] = stride;
        stride *= shape[order[i - 1]];
    }
    return strides;
}

void copy_elements(const std::vector<int32_t>& shape, size_t size, const uint8_t* from,
                   const std::vector<int32_t>& from_strides, uint8_t* to,
                   const std::vector<int32_t>& to_strides) {
    size_t count = 1;
    for (const int32_t extent : shape) count *= static_cast<size_t>(extent);
    std::vector<int32_t> index(shape.size(), 0);
    for (size_t i = 0; i < count; ++i) {
        size_t source = 0, target = 0;
        for (size_t axis = 0; axis < index.size(); ++axis) {
            source += static_cast<size_t>(index[axis]) * static_cast<size_t>(from_strides[axis]);
            target += static_cast<size_t>(index[axis]) * static_cast<size_t>(to_strides[axis]);
        }
        std::memcpy(to + target * size, from + source * size, size);
        for (size_t axis = index.size(); axis > 0; --axis) {
            if (++index[axis - 1] < shape[axis - 1]) break;
            index[axis - 1] = 0;
        }
    }
}

}  // namespace arm_runtime
