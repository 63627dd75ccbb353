#include "port_kernels.hpp"

#include <array>
#include <spirv/unified1/spirv.hpp>

#include "device.hpp"
#include "plan/kernel.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr const char* kAnyFormat = "shaderStorageImageWriteWithoutFormat";

#define UNORM(bits, count, name, storage, written)                                    \
    PortFormat {                                                                      \
        #name "_UNORM", VK_FORMAT_##name##_UNORM, count, (1U << (bits)) - 1, storage, \
            DataType::kUInt##bits, written, false                                     \
    }
#define SNORM(bits, count, name, storage, written)                                          \
    PortFormat {                                                                            \
        #name "_SNORM", VK_FORMAT_##name##_SNORM, count, (1U << ((bits) - 1)) - 1, storage, \
            DataType::kInt##bits, written, false                                            \
    }
#define FLOATS(count, name, storage, written, depth) \
    PortFormat { #name, VK_FORMAT_##name, count, 0, storage, DataType::kFloat32, written, depth }
constexpr PortFormat kFormats[] = {
    UNORM(8, 1, R8, 0, true),
    UNORM(8, 2, R8G8, 0, true),
    UNORM(8, 4, R8G8B8A8, spv::ImageFormatRgba8, true),
    UNORM(8, 4, B8G8R8A8, 0, true),
    SNORM(8, 1, R8, 0, true),
    SNORM(8, 2, R8G8, 0, true),
    SNORM(8, 4, R8G8B8A8, spv::ImageFormatRgba8Snorm, true),
    UNORM(16, 1, R16, 0, false),
    UNORM(16, 2, R16G16, 0, false),
    UNORM(16, 4, R16G16B16A16, 0, false),
    SNORM(16, 1, R16, 0, false),
    SNORM(16, 2, R16G16, 0, false),
    SNORM(16, 4, R16G16B16A16, 0, false),
    FLOATS(1, R16_SFLOAT, 0, true, false),
    FLOATS(2, R16G16_SFLOAT, 0, true, false),
    FLOATS(4, R16G16B16A16_SFLOAT, spv::ImageFormatRgba16f, true, false),
    FLOATS(1, R32_SFLOAT, spv::ImageFormatR32f, true, false),
    FLOATS(2, R32G32_SFLOAT, 0, true, false),
    FLOATS(4, R32G32B32A32_SFLOAT, spv::ImageFormatRgba32f, true, false),
    FLOATS(3, B10G11R11_UFLOAT_PACK32, 0, true, false),
    FLOATS(4, A2B10G10R10_UNORM_PACK32, 0, true, false),
    FLOATS(4, R8G8B8A8_SRGB, 0, false, false),
    FLOATS(4, B8G8R8A8_SRGB, 0, false, false),
    FLOATS(1, D32_SFLOAT, 0, false, true),
    FLOATS(1, D16_UNORM, 0, false, true),
};
#undef UNORM
#undef SNORM
#undef FLOATS

/// A kernel's code for images of a format; spv::ImageFormatUnknown: of any.
std::vector<uint32_t> code_of(const char* kernel, bool writes_image, uint32_t image_format) {
    const KernelCode& code = find_kernel(kernel, false);
    std::vector<uint32_t> words(code.words, code.words + code.count);
    if (!writes_image) return words;
    constexpr size_t kHeader = 5;
    constexpr size_t kFormat = 8;  // of OpTypeImage
    for (size_t at = kHeader; at < words.size(); at += words[at] >> 16) {
        if ((words[at] & 0xffff) == spv::OpTypeImage) words[at + kFormat] = image_format;
    }
    if (image_format == spv::ImageFormatUnknown) {
        const std::array<uint32_t, 2> capability{2U << 16 | spv::OpCapability,
                                                 spv::CapabilityStorageImageWriteWithoutFormat};
        words.insert(words.begin() + kHeader, capability.begin(), capability.end());
    }
    return words;
}

}  // namespace

bool suits(const PortFormat& format, DataType type) {
    return type == format.number || type == DataType::kFloat16 || type == DataType::kBFloat16 ||
           type == DataType::kFloat32;
}

const PortFormat& port_format(VkFormat format, bool output, DataType type,
                              const std::string& text) {
    std::string names;
    for (const PortFormat& row : kFormats) {
        if (output && !row.written) continue;
        if (row.format == format) return row;
        if (suits(row, type)) names += std::string(names.empty() ? "" : ", ") + row.name;
    }
    const bool has_stencil = format == VK_FORMAT_D16_UNORM_S8_UINT ||
                             format == VK_FORMAT_D24_UNORM_S8_UINT ||
                             format == VK_FORMAT_D32_SFLOAT_S8_UINT;
    throw Error(
        text + ": images of VkFormat " + std::to_string(format) + " are not " +
        (output ? "written" : "read") +
        (has_stencil && !output ? " (depth with stencil: copy the depth to R32_SFLOAT)" : "") +
        "; of " + name_of(type) + ", these are: " + names);
}

PortKernels::PortKernels(const Device& device)
    : device_(device), any_format_(device.features().has(kAnyFormat)) {
    const vk::raii::Device& owner = device.vulkan();
    constexpr auto kStage = vk::ShaderStageFlagBits::eCompute;
    for (const auto second : {vk::DescriptorType::eStorageBuffer, vk::DescriptorType::eSampledImage,
                              vk::DescriptorType::eStorageImage}) {
        const std::array bindings{
            vk::DescriptorSetLayoutBinding(0, vk::DescriptorType::eStorageBuffer, 1, kStage),
            vk::DescriptorSetLayoutBinding(1, second, 1, kStage)};
        Layouts& made = layouts_.emplace_back();
        made.set = {owner, vk::DescriptorSetLayoutCreateInfo().setBindings(bindings)};
        const vk::PushConstantRange push(kStage, 0, kPushInts * sizeof(int32_t));
        made.pipeline = {
            owner,
            vk::PipelineLayoutCreateInfo().setSetLayouts(*made.set).setPushConstantRanges(push)};
    }
}

void PortKernels::compile(Kind kind) {
    if (kind == Kind::kBuffer) return add(kind, "port_buffer", 0);
    if (kind == Kind::kSampled) return add(kind, "port_read", 0);
    if (any_format_) return add(kind, "port_write", spv::ImageFormatUnknown);
    for (const PortFormat& format : kFormats) {
        if (format.storage_format != 0) add(kind, "port_write", format.storage_format);
    }
}

void PortKernels::add(Kind kind, const char* kernel, uint32_t image_format) {
    if (pipelines_.count({kind, image_format}) != 0) return;
    const std::vector<uint32_t> code = code_of(kernel, kind == Kind::kStorage, image_format);
    const vk::raii::Device& owner = device_.vulkan();
    const vk::raii::ShaderModule module(owner, vk::ShaderModuleCreateInfo().setCode(code));
    const auto stage = vk::PipelineShaderStageCreateInfo()
                           .setStage(vk::ShaderStageFlagBits::eCompute)
                           .setModule(*module)
                           .setPName("main");
    pipelines_.emplace(std::pair(kind, image_format),
                       vk::raii::Pipeline(owner, device_.cache().handle(),
                                          vk::ComputePipelineCreateInfo().setStage(stage).setLayout(
                                              *layouts(kind).pipeline)));
}

vk::Pipeline PortKernels::pipeline(Kind kind, const PortFormat* format,
                                   const std::string& text) const {
    const bool named = format != nullptr && !any_format_;
    if (named && format->storage_format == 0) {
        throw Error(text + ": images of " + format->name + " are written with the feature " +
                    kAnyFormat + ", which " + device_.name() + " was made without");
    }
    const auto found = pipelines_.find({kind, named ? format->storage_format : 0});
    return *found->second;
}

}  // namespace arm_runtime::vgf
