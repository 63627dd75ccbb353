// What a VGF says of an image and its sampler.
#pragma once

#include <string>
#include <vector>
#include <vgf/decoder.hpp>

#include "program.hpp"

namespace arm_runtime::vgf {

/// Whether descriptors of this type, a number from a file, are for images.
bool is_image(int32_t descriptor);

/// Reads the image of a resource of such a type.
///
/// Throws Error, whose text begins with `where`: its shape is not [H, W, C] or [1, H, W, C] with
/// the channels of its format, or its sampler has a setting that Vulkan 1.1 does not guarantee.
Image read_image(const mlsdk::vgflib::ModelResourceTableDecoder& resources, uint32_t index,
                 const ImageFormat& format, const std::vector<int64_t>& shape,
                 const std::string& where);

}  // namespace arm_runtime::vgf
