// The formats of images: what a texel holds, for the host and for a shader.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arm_runtime/vgf.hpp"
#include "spirv_types.hpp"

namespace arm_runtime::vgf {

struct ImageFormat {
    int32_t format;      ///< VkFormat
    const char* name;    ///< Vulkan's, without VK_FORMAT_
    DataType type;       ///< of a channel as the host sees it: of UNORM and SNORM the whole number
    uint32_t channels;   ///< numbers of a texel
    SpirvNumber number;  ///< what shaders see
    uint32_t spirv;      ///< spv::ImageFormat; 0: shaders have no name for it
};

/// nullptr: this runtime has no images of that format.
const ImageFormat* image_format(int32_t format);

}  // namespace arm_runtime::vgf
