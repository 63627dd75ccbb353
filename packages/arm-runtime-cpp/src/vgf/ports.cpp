#include "ports.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <spirv/unified1/spirv.hpp>

#include "kernels/steps.h"
#include "memory_plan.hpp"
#include "plan/kernel.hpp"
#include "shape_text.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint32_t kThreads = 64;              // of a workgroup
constexpr uint32_t kMaxGroupsPerAxis = 65535;  // every device's maxComputeWorkGroupCount
constexpr uint64_t kMaxElements = 0x7fffffff;
constexpr uint64_t kMaxSets = 1U << 20;  // of one program's inputs or outputs: so that none wraps

/// A format of images that inputs are read from, or outputs are written to.
struct ImageFormatRow {
    VkFormat format;
    const char* name;
    uint32_t channels;
    DataType number;          ///< of an integer tensor with the texels' numbers; or kFloat32: none
    float scale;              ///< the number of a texel of 1
    uint32_t storage_format;  ///< spv::ImageFormat, of outputs; 0: of inputs only
};

#define UNORM(bits, count, name, storage)                                       \
    ImageFormatRow {                                                            \
        VK_FORMAT_##name##_UNORM, #name "_UNORM", count, DataType::kUInt##bits, \
            (1U << (bits)) - 1, storage                                         \
    }
#define SNORM(bits, count, name, storage)                                      \
    ImageFormatRow {                                                           \
        VK_FORMAT_##name##_SNORM, #name "_SNORM", count, DataType::kInt##bits, \
            (1U << ((bits) - 1)) - 1, storage                                  \
    }
#define SFLOAT(count, name, storage)                                                      \
    ImageFormatRow {                                                                      \
        VK_FORMAT_##name##_SFLOAT, #name "_SFLOAT", count, DataType::kFloat32, 0, storage \
    }
constexpr ImageFormatRow kFormats[] = {
    UNORM(8, 1, R8, 0),
    UNORM(8, 2, R8G8, 0),
    UNORM(8, 4, R8G8B8A8, spv::ImageFormatRgba8),
    UNORM(8, 4, B8G8R8A8, 0),
    SNORM(8, 1, R8, 0),
    SNORM(8, 2, R8G8, 0),
    SNORM(8, 4, R8G8B8A8, spv::ImageFormatRgba8Snorm),
    UNORM(16, 1, R16, 0),
    UNORM(16, 2, R16G16, 0),
    UNORM(16, 4, R16G16B16A16, 0),
    SNORM(16, 1, R16, 0),
    SNORM(16, 2, R16G16, 0),
    SNORM(16, 4, R16G16B16A16, 0),
    SFLOAT(1, R16, 0),
    SFLOAT(2, R16G16, 0),
    SFLOAT(4, R16G16B16A16, spv::ImageFormatRgba16f),
    SFLOAT(1, R32, spv::ImageFormatR32f),
    SFLOAT(2, R32G32, 0),
    SFLOAT(4, R32G32B32A32, spv::ImageFormatRgba32f),
};
#undef UNORM
#undef SNORM
#undef SFLOAT

const ImageFormatRow& row_of(VkFormat format, bool output, const std::string& text) {
    for (const ImageFormatRow& row : kFormats) {
        if (row.format == format && (!output || row.storage_format != 0)) return row;
    }
    std::string names;
    for (const ImageFormatRow& row : kFormats) {
        if (!output || row.storage_format != 0)
            names += std::string(names.empty() ? "" : ", ") + row.name;
    }
    throw Error(text + ": images of VkFormat " + std::to_string(format) + " are not " +
                (output ? "written" : "read") + "; these are: " + names);
}

int32_t type_code(DataType type) {
    switch (type) {
        case DataType::kInt8:
        case DataType::kUInt8:
            return TYPE_INT8;
        case DataType::kInt16:
        case DataType::kUInt16:
            return TYPE_INT16;
        case DataType::kFloat16:
            return TYPE_FLOAT16;
        case DataType::kBFloat16:
            return TYPE_BFLOAT16;
        default:
            return TYPE_FLOAT32;
    }
}

bool is_float(DataType type) {
    return type == DataType::kFloat16 || type == DataType::kBFloat16 || type == DataType::kFloat32;
}

uint64_t count_of(const std::vector<int64_t>& shape) {
    uint64_t count = 1;
    for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
    return count;
}

/// Kernels' code with the format of its storage image.
std::vector<uint32_t> code_of(const char* kernel, uint32_t image_format) {
    const KernelCode& code = find_kernel(kernel, false);
    std::vector<uint32_t> words(code.words, code.words + code.count);
    constexpr size_t kHeader = 5;
    constexpr size_t kFormat = 8;  // of OpTypeImage
    for (size_t at = kHeader; image_format != 0 && at < words.size(); at += words[at] >> 16) {
        if ((words[at] & 0xffff) == spv::OpTypeImage) words[at + kFormat] = image_format;
    }
    return words;
}

int32_t bits_of(float value) {
    int32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

}  // namespace

FramePorts::FramePorts(Device& device, const Engine& engine, size_t count, bool outputs,
                       uint32_t frames)
    : device_(device),
      engine_(engine),
      count_(count),
      outputs_(outputs),
      buffers_(make_kind(vk::DescriptorType::eStorageBuffer)),
      images_(make_kind(outputs ? vk::DescriptorType::eStorageImage
                                : vk::DescriptorType::eSampledImage)) {
    if (count * uint64_t{frames} > kMaxSets) {
        throw Error("frames_in_flight is " + std::to_string(frames) +
                    ": with each input or output once, more than " + std::to_string(kMaxSets) +
                    " bindings");
    }
    const auto sets = static_cast<uint32_t>(count) * frames;
    bound_.resize(sets);
    if (sets == 0) return;
    const std::array sizes{
        vk::DescriptorPoolSize(vk::DescriptorType::eStorageBuffer, 3 * sets),
        vk::DescriptorPoolSize(
            outputs ? vk::DescriptorType::eStorageImage : vk::DescriptorType::eSampledImage, sets)};
    const vk::raii::Device& owner = device.vulkan();
    pool_ = {owner, vk::DescriptorPoolCreateInfo()
                        .setFlags(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet)
                        .setMaxSets(2 * sets)
                        .setPoolSizes(sizes)};
    const std::array layouts{*buffers_.set_layout, *images_.set_layout};
    const auto info =
        vk::DescriptorSetAllocateInfo().setDescriptorPool(*pool_).setSetLayouts(layouts);
    for (Bound& bound : bound_) {
        vk::raii::DescriptorSets two(owner, info);
        bound.buffers = std::move(two[0]);
        bound.image = std::move(two[1]);
    }
    compile(buffers_, "port_buffer", 0);  // the lock is held: the program is made
}

FramePorts::Kind FramePorts::make_kind(vk::DescriptorType second) const {
    const vk::raii::Device& owner = device_.vulkan();
    constexpr auto kStage = vk::ShaderStageFlagBits::eCompute;
    const std::array bindings{
        vk::DescriptorSetLayoutBinding(0, vk::DescriptorType::eStorageBuffer, 1, kStage),
        vk::DescriptorSetLayoutBinding(1, second, 1, kStage)};
    Kind kind;
    kind.set_layout = {owner, vk::DescriptorSetLayoutCreateInfo().setBindings(bindings)};
    const vk::PushConstantRange push(kStage, 0, sizeof(Push));
    kind.layout = {
        owner,
        vk::PipelineLayoutCreateInfo().setSetLayouts(*kind.set_layout).setPushConstantRanges(push)};
    return kind;
}

vk::Pipeline FramePorts::pipeline(Kind& kind, const char* kernel, uint32_t image_format) {
    const auto known = kind.pipelines.find(image_format);
    if (known != kind.pipelines.end()) return *known->second;
    // Another thread may make a program, which merges other caches into the device's.
    const std::lock_guard<std::mutex> lock(device_.loading());
    return compile(kind, kernel, image_format);
}

vk::Pipeline FramePorts::compile(Kind& kind, const char* kernel, uint32_t image_format) {
    const std::vector<uint32_t> code = code_of(kernel, image_format);
    const vk::raii::Device& owner = device_.vulkan();
    const vk::raii::ShaderModule module(owner, vk::ShaderModuleCreateInfo().setCode(code));
    const auto stage = vk::PipelineShaderStageCreateInfo()
                           .setStage(vk::ShaderStageFlagBits::eCompute)
                           .setModule(*module)
                           .setPName("main");
    vk::raii::Pipeline made(
        owner, device_.cache().handle(),
        vk::ComputePipelineCreateInfo().setStage(stage).setLayout(*kind.layout));
    return *kind.pipelines.emplace(image_format, std::move(made)).first->second;
}

vk::DescriptorBufferInfo FramePorts::own(size_t port) const {
    vk::DescriptorBufferInfo whole =
        outputs_ ? engine_.output_buffer(port) : engine_.input_buffer(port);
    whole.range = (whole.range + 3) / 4 * 4;  // shaders read and write words
    return whole;
}

void FramePorts::write(vk::DescriptorSet set, uint32_t binding, vk::DescriptorType type,
                       const vk::DescriptorBufferInfo* buffer,
                       const vk::DescriptorImageInfo* image) const {
    const vk::WriteDescriptorSet write(set, binding, 0, 1, type, image, buffer);
    device_.vulkan().updateDescriptorSets(write, {});
}

void FramePorts::bind(uint32_t frame, size_t port, const Tensor& tensor, VkBuffer buffer,
                      VkDeviceSize offset) {
    if (buffer == VK_NULL_HANDLE) throw Error(tensor.text + ": the buffer is null");
    if (offset % 4 != 0) {
        throw Error(tensor.text + ": its offset, " + std::to_string(offset) +
                    ", is no multiple of 4");
    }
    const uint64_t bytes = count_of(tensor.shape) * size_of(tensor.type);
    const uint64_t words = (bytes + 3) / 4;
    // The part of the buffer that is bound begins where devices want it to.
    const uint64_t step = device_.limits().minStorageBufferOffsetAlignment;
    const uint64_t begin = offset / step * step;
    const uint64_t first = (offset - begin) / 4;
    const vk::DescriptorBufferInfo given(buffer, begin, (first + words) * 4);
    if (given.range > device_.max_buffer_range()) {
        throw Error(tensor.text + ": it takes more bytes than the maxStorageBufferRange of " +
                    device_.name());
    }
    const vk::DescriptorBufferInfo ours = own(port);
    Bound& bound = at(frame, port);
    constexpr auto kType = vk::DescriptorType::eStorageBuffer;
    write(*bound.buffers, 0, kType, outputs_ ? &given : &ours, nullptr);
    write(*bound.buffers, 1, kType, outputs_ ? &ours : &given, nullptr);
    const auto place = static_cast<int32_t>(first);
    const uint32_t mask = bytes % 4 == 0 ? ~0U : (1U << 8 * (bytes % 4)) - 1;
    bound.push = {static_cast<int32_t>(words), outputs_ ? place : 0, outputs_ ? 0 : place,
                  static_cast<int32_t>(mask)};
    bound.set = *bound.buffers;
    bound.layout = *buffers_.layout;
    bound.threads = static_cast<uint32_t>(words);
    bound.pipeline = pipeline(buffers_, "port_buffer", 0);
}

void FramePorts::bind(uint32_t frame, size_t port, const Tensor& tensor,
                      const arm_vgf::Image& image) {
    if (image.view == VK_NULL_HANDLE) throw Error(tensor.text + ": the image's view is null");
    const ImageFormatRow& row = row_of(image.format, outputs_, tensor.text);
    const bool general = image.layout == VK_IMAGE_LAYOUT_GENERAL;
    if (!general && (outputs_ || image.layout != VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL)) {
        throw Error(tensor.text + ": its image must be in the layout GENERAL" +
                    (outputs_ ? "" : " or SHADER_READ_ONLY_OPTIMAL"));
    }
    std::vector<int64_t> shape = tensor.shape;
    if (shape.size() == 4 && shape[0] == 1) shape.erase(shape.begin());
    const bool planar = image.channels == arm_vgf::Channels::kFirst;
    if (planar && shape.size() == 3) std::rotate(shape.begin(), shape.begin() + 1, shape.end());
    if (shape.size() != 3 || shape[0] != image.height || shape[1] != image.width ||
        shape[2] > row.channels || count_of(shape) > kMaxElements) {
        throw Error(tensor.text + ": an image of " + std::to_string(image.width) + " x " +
                    std::to_string(image.height) + " " + row.name + " with channels " +
                    (planar ? "first" : "last") + " does not fit its shape, " +
                    shape_text(tensor.shape));
    }
    if (!is_float(tensor.type) && tensor.type != row.number) {
        throw Error(tensor.text + ": a tensor of " + name_of(tensor.type) + " has no texels of " +
                    row.name);
    }
    Bound& bound = at(frame, port);
    const bool is_signed = row.number == DataType::kInt8 || row.number == DataType::kInt16;
    // Written numbers with signs have a negative scale: see kernels/port_write.comp.
    float scale = is_float(tensor.type) ? 0 : row.scale;
    if (outputs_ && is_signed) scale = -scale;
    const vk::DescriptorBufferInfo ours = own(port);
    const vk::DescriptorImageInfo view({}, image.view, static_cast<vk::ImageLayout>(image.layout));
    const vk::Pipeline compiled = outputs_ ? pipeline(images_, "port_write", row.storage_format)
                                           : pipeline(images_, "port_read", 0);
    write(*bound.image, 0, vk::DescriptorType::eStorageBuffer, &ours, nullptr);
    write(*bound.image, 1,
          outputs_ ? vk::DescriptorType::eStorageImage : vk::DescriptorType::eSampledImage, nullptr,
          &view);
    const auto channels = static_cast<int32_t>(shape[2]);
    bound.push = {static_cast<int32_t>(image.width),
                  static_cast<int32_t>(image.height),
                  channels,
                  0,
                  type_code(tensor.type),
                  planar ? 1 : 0,
                  bits_of(scale)};
    bound.set = *bound.image;
    bound.layout = *images_.layout;
    const uint64_t bytes = count_of(shape) * size_of(tensor.type);
    bound.threads = outputs_ ? image.width * image.height : static_cast<uint32_t>((bytes + 3) / 4);
    bound.pipeline = compiled;
}

void FramePorts::unbind() {
    for (Bound& bound : bound_) bound.pipeline = nullptr;
}

size_t FramePorts::first_unbound(uint32_t frame) const {
    size_t port = 0;
    while (port < count_ && bound_[frame * count_ + port].pipeline) ++port;
    return port;
}

void FramePorts::record(const vk::raii::CommandBuffer& commands, uint32_t frame) const {
    for (size_t port = 0; port < count_; ++port) {
        const Bound& bound = bound_[frame * count_ + port];
        commands.bindPipeline(vk::PipelineBindPoint::eCompute, bound.pipeline);
        commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, bound.layout, 0, bound.set,
                                    {});
        commands.pushConstants<int32_t>(bound.layout, vk::ShaderStageFlagBits::eCompute, 0,
                                        bound.push);
        const uint32_t groups = (bound.threads + kThreads - 1) / kThreads;
        const uint32_t rows = (groups + kMaxGroupsPerAxis - 1) / kMaxGroupsPerAxis;
        commands.dispatch((groups + rows - 1) / rows, rows, 1);
    }
}

}  // namespace arm_runtime::vgf
