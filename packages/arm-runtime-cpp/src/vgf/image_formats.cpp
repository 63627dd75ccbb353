#include "image_formats.hpp"

#include <vulkan/vulkan_core.h>

#include <spirv/unified1/spirv.hpp>

namespace arm_runtime::vgf {
namespace {

constexpr ImageFormat kFormats[] = {
    {VK_FORMAT_R8_UNORM, "R8_UNORM", DataType::kUInt8, 1, SpirvNumber::kFloat, spv::ImageFormatR8},
    {VK_FORMAT_R8_SNORM, "R8_SNORM", DataType::kInt8, 1, SpirvNumber::kFloat,
     spv::ImageFormatR8Snorm},
    {VK_FORMAT_R8_UINT, "R8_UINT", DataType::kUInt8, 1, SpirvNumber::kUnsigned,
     spv::ImageFormatR8ui},
    {VK_FORMAT_R8_SINT, "R8_SINT", DataType::kInt8, 1, SpirvNumber::kSigned, spv::ImageFormatR8i},
    {VK_FORMAT_R8G8_UNORM, "R8G8_UNORM", DataType::kUInt8, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg8},
    {VK_FORMAT_R8G8_SNORM, "R8G8_SNORM", DataType::kInt8, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg8Snorm},
    {VK_FORMAT_R8G8_UINT, "R8G8_UINT", DataType::kUInt8, 2, SpirvNumber::kUnsigned,
     spv::ImageFormatRg8ui},
    {VK_FORMAT_R8G8_SINT, "R8G8_SINT", DataType::kInt8, 2, SpirvNumber::kSigned,
     spv::ImageFormatRg8i},
    {VK_FORMAT_R8G8B8A8_UNORM, "R8G8B8A8_UNORM", DataType::kUInt8, 4, SpirvNumber::kFloat,
     spv::ImageFormatRgba8},
    {VK_FORMAT_R8G8B8A8_SNORM, "R8G8B8A8_SNORM", DataType::kInt8, 4, SpirvNumber::kFloat,
     spv::ImageFormatRgba8Snorm},
    {VK_FORMAT_R8G8B8A8_UINT, "R8G8B8A8_UINT", DataType::kUInt8, 4, SpirvNumber::kUnsigned,
     spv::ImageFormatRgba8ui},
    {VK_FORMAT_R8G8B8A8_SINT, "R8G8B8A8_SINT", DataType::kInt8, 4, SpirvNumber::kSigned,
     spv::ImageFormatRgba8i},
    {VK_FORMAT_R16_UNORM, "R16_UNORM", DataType::kUInt16, 1, SpirvNumber::kFloat,
     spv::ImageFormatR16},
    {VK_FORMAT_R16_SNORM, "R16_SNORM", DataType::kInt16, 1, SpirvNumber::kFloat,
     spv::ImageFormatR16Snorm},
    {VK_FORMAT_R16_UINT, "R16_UINT", DataType::kUInt16, 1, SpirvNumber::kUnsigned,
     spv::ImageFormatR16ui},
    {VK_FORMAT_R16_SINT, "R16_SINT", DataType::kInt16, 1, SpirvNumber::kSigned,
     spv::ImageFormatR16i},
    {VK_FORMAT_R16_SFLOAT, "R16_SFLOAT", DataType::kFloat16, 1, SpirvNumber::kFloat,
     spv::ImageFormatR16f},
    {VK_FORMAT_R16G16_UNORM, "R16G16_UNORM", DataType::kUInt16, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg16},
    {VK_FORMAT_R16G16_SNORM, "R16G16_SNORM", DataType::kInt16, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg16Snorm},
    {VK_FORMAT_R16G16_UINT, "R16G16_UINT", DataType::kUInt16, 2, SpirvNumber::kUnsigned,
     spv::ImageFormatRg16ui},
    {VK_FORMAT_R16G16_SINT, "R16G16_SINT", DataType::kInt16, 2, SpirvNumber::kSigned,
     spv::ImageFormatRg16i},
    {VK_FORMAT_R16G16_SFLOAT, "R16G16_SFLOAT", DataType::kFloat16, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg16f},
    {VK_FORMAT_R16G16B16A16_UNORM, "R16G16B16A16_UNORM", DataType::kUInt16, 4, SpirvNumber::kFloat,
     spv::ImageFormatRgba16},
    {VK_FORMAT_R16G16B16A16_SNORM, "R16G16B16A16_SNORM", DataType::kInt16, 4, SpirvNumber::kFloat,
     spv::ImageFormatRgba16Snorm},
    {VK_FORMAT_R16G16B16A16_UINT, "R16G16B16A16_UINT", DataType::kUInt16, 4, SpirvNumber::kUnsigned,
     spv::ImageFormatRgba16ui},
    {VK_FORMAT_R16G16B16A16_SINT, "R16G16B16A16_SINT", DataType::kInt16, 4, SpirvNumber::kSigned,
     spv::ImageFormatRgba16i},
    {VK_FORMAT_R16G16B16A16_SFLOAT, "R16G16B16A16_SFLOAT", DataType::kFloat16, 4,
     SpirvNumber::kFloat, spv::ImageFormatRgba16f},
    {VK_FORMAT_R32_UINT, "R32_UINT", DataType::kUInt32, 1, SpirvNumber::kUnsigned,
     spv::ImageFormatR32ui},
    {VK_FORMAT_R32_SINT, "R32_SINT", DataType::kInt32, 1, SpirvNumber::kSigned,
     spv::ImageFormatR32i},
    {VK_FORMAT_R32_SFLOAT, "R32_SFLOAT", DataType::kFloat32, 1, SpirvNumber::kFloat,
     spv::ImageFormatR32f},
    {VK_FORMAT_R32G32_UINT, "R32G32_UINT", DataType::kUInt32, 2, SpirvNumber::kUnsigned,
     spv::ImageFormatRg32ui},
    {VK_FORMAT_R32G32_SINT, "R32G32_SINT", DataType::kInt32, 2, SpirvNumber::kSigned,
     spv::ImageFormatRg32i},
    {VK_FORMAT_R32G32_SFLOAT, "R32G32_SFLOAT", DataType::kFloat32, 2, SpirvNumber::kFloat,
     spv::ImageFormatRg32f},
    {VK_FORMAT_R32G32B32A32_UINT, "R32G32B32A32_UINT", DataType::kUInt32, 4, SpirvNumber::kUnsigned,
     spv::ImageFormatRgba32ui},
    {VK_FORMAT_R32G32B32A32_SINT, "R32G32B32A32_SINT", DataType::kInt32, 4, SpirvNumber::kSigned,
     spv::ImageFormatRgba32i},
    {VK_FORMAT_R32G32B32A32_SFLOAT, "R32G32B32A32_SFLOAT", DataType::kFloat32, 4,
     SpirvNumber::kFloat, spv::ImageFormatRgba32f},
    {VK_FORMAT_R8G8B8A8_SRGB, "R8G8B8A8_SRGB", DataType::kUInt8, 4, SpirvNumber::kFloat,
     spv::ImageFormatUnknown},
};

}  // namespace

const ImageFormat* image_format(int32_t format) {
    for (const ImageFormat& row : kFormats) {
        if (row.format == format) return &row;
    }
    return nullptr;
}

}  // namespace arm_runtime::vgf
