#include "formats.hpp"

#include <limits>

#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {

const char* name_of(DataType type) {
    static constexpr const char* kNames[] = {"bool",     "int8",    "uint8", "int16",
                                             "uint16",   "int32",   "int64", "float16",
                                             "bfloat16", "float32", "uint32"};
    return kNames[static_cast<size_t>(type)];
}

size_t size_of(DataType type) {
    static constexpr size_t kSizes[] = {1, 1, 1, 2, 2, 4, 8, 2, 2, 4, 4};
    return kSizes[static_cast<size_t>(type)];
}

std::optional<DataType> type_of(int32_t format) {
    switch (format) {
        case kFormatBool:
            return DataType::kBool;
        case VK_FORMAT_R8_SINT:
            return DataType::kInt8;
        case VK_FORMAT_R8_UINT:
            return DataType::kUInt8;
        case VK_FORMAT_R16_SINT:
            return DataType::kInt16;
        case VK_FORMAT_R16_UINT:
            return DataType::kUInt16;
        case VK_FORMAT_R32_SINT:
            return DataType::kInt32;
        case VK_FORMAT_R32_UINT:
            return DataType::kUInt32;
        case VK_FORMAT_R16_SFLOAT:
            return DataType::kFloat16;
        case kFormatBFloat16:
            return DataType::kBFloat16;
        case VK_FORMAT_R32_SFLOAT:
            return DataType::kFloat32;
        default:
            return std::nullopt;
    }
}

bool narrow(const int64_t* from, int32_t* to, size_t count, int64_t* bad) {
    for (size_t i = 0; i < count; ++i) {
        to[i] = static_cast<int32_t>(from[i]);
        if (to[i] != from[i]) {
            *bad = from[i];
            return false;
        }
    }
    return true;
}

void widen(const int32_t* from, int64_t* to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace arm_runtime::vgf
