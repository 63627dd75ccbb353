#include "image_resource.hpp"

#include "shape_text.hpp"

namespace arm_runtime::vgf {
namespace {

namespace lib = mlsdk::vgflib;

// Larger ones no device has.
constexpr int64_t kMaxSide = 1 << 20;

/// A number from the file as an enumerator, if it is one of the first `count`.
template <typename Enumeration>
Enumeration checked(uint32_t value, uint32_t count, const char* what, const std::string& where) {
    if (value >= count) {
        throw Error(where + ": its sampler's " + what + " " + std::to_string(value) +
                    " is not supported");
    }
    return static_cast<Enumeration>(value);
}

bool is_integer(VkBorderColor color) {
    return color == VK_BORDER_COLOR_INT_TRANSPARENT_BLACK ||
           color == VK_BORDER_COLOR_INT_OPAQUE_BLACK || color == VK_BORDER_COLOR_INT_OPAQUE_WHITE;
}

Sampler read_sampler(const lib::ModelResourceTableDecoder& resources,
                     lib::SamplerConfigHandle config, const ImageFormat& format,
                     const std::string& where) {
    Sampler sampler;
    if (config == nullptr) return sampler;
    const auto filter = [&](uint32_t value) {
        return checked<VkFilter>(value, VK_FILTER_LINEAR + 1, "filter", where);
    };
    const auto address = [&](uint32_t value) {
        return checked<VkSamplerAddressMode>(value, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER + 1,
                                             "address mode", where);
    };
    sampler.min = filter(resources.getSamplerConfigMinFilter(config));
    sampler.mag = filter(resources.getSamplerConfigMagFilter(config));
    sampler.u = address(resources.getSamplerConfigAddressModeU(config));
    sampler.v = address(resources.getSamplerConfigAddressModeV(config));
    const auto border =
        checked<VkBorderColor>(resources.getSamplerConfigBorderColor(config),
                               VK_BORDER_COLOR_INT_OPAQUE_WHITE + 1, "border color", where);
    if (sampler.u != VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER &&
        sampler.v != VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER) {
        return sampler;  // the color is not used
    }
    sampler.border = border;
    if (is_integer(sampler.border) == (format.number == SpirvNumber::kFloat)) {
        throw Error(where + ": its sampler's border color " + std::to_string(sampler.border) +
                    " is not of the kind of its format " + format.name);
    }
    return sampler;
}

}  // namespace

bool is_image(int32_t descriptor) {
    return descriptor == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
           descriptor == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE ||
           descriptor == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

Image read_image(const lib::ModelResourceTableDecoder& resources, uint32_t index,
                 const ImageFormat& format, const std::vector<int64_t>& shape,
                 const std::string& where) {
    const size_t rank = shape.size();
    if (rank < 3 || rank > 4 || (rank == 4 && shape[0] != 1) ||
        shape[rank - 1] != static_cast<int64_t>(format.channels)) {
        throw Error(where + ": its shape " + shape_text(shape) + " is not [H, W, " +
                    std::to_string(format.channels) + "] or [1, H, W, " +
                    std::to_string(format.channels) + "], as an image of " + format.name + " has");
    }
    const int64_t height = shape[rank - 3];
    const int64_t width = shape[rank - 2];
    if (height > kMaxSide || width > kMaxSide) {
        throw Error(where + ": its shape " + shape_text(shape) + " is out of range for an image");
    }
    return {&format, static_cast<uint32_t>(width), static_cast<uint32_t>(height),
            read_sampler(resources, resources.getSamplerConfigHandle(index), format, where)};
}

}  // namespace arm_runtime::vgf
