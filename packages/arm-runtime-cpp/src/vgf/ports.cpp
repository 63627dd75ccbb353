#include "ports.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/steps.h"
#include "shape_text.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint32_t kThreads = 64;              // of a workgroup
constexpr uint32_t kMaxGroupsPerAxis = 65535;  // every device's maxComputeWorkGroupCount
constexpr uint64_t kMaxElements = 0x7fffffff;
constexpr uint64_t kMaxSets = 1U << 20;  // of one program's inputs or outputs: so that none wraps

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

/// Whether an image may be bound, whatever sizes are chosen.
bool may_be_image(const TensorInfo& info) {
    const bool has_texels = info.type == DataType::kInt8 || info.type == DataType::kUInt8 ||
                            info.type == DataType::kInt16 || info.type == DataType::kUInt16 ||
                            is_float(info.type);
    return has_texels && (info.shape.size() == 3 || info.shape.size() == 4);
}

/// A tensor's height, width and channels, without a batch of 1; of another rank, the shape itself.
std::vector<int64_t> picture_of(std::vector<int64_t> shape, bool planar) {
    if (shape.size() == 4 && shape[0] == 1) shape.erase(shape.begin());
    if (planar && shape.size() == 3) std::rotate(shape.begin(), shape.begin() + 1, shape.end());
    return shape;
}

/// Whether an image has the sizes of `picture_of`, and its channels or more.
bool is_of(const arm_vgf::Image& image, const PortFormat& format,
           const std::vector<int64_t>& picture) {
    return picture.size() == 3 && picture[0] == image.height && picture[1] == image.width &&
           picture[2] <= format.channels && count_of(picture) <= kMaxElements;
}

/// Whether shaders read an image in this layout, or write it.
bool fits(VkImageLayout layout, const PortFormat& format, bool output) {
    if (layout == VK_IMAGE_LAYOUT_GENERAL) return true;
    if (output) return false;
    return layout == VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL ||
           layout == VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL ||
           (format.depth && (layout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL ||
                             layout == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL));
}

int32_t bits_of(float value) {
    int32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

}  // namespace

FramePorts::FramePorts(Device& device, Engine& engine, const std::vector<TensorInfo>& infos,
                       bool outputs, uint32_t frames, const std::vector<StatePair>& states)
    : device_(device), outputs_(outputs), ports_(infos.size()) {
    const size_t ways = states.empty() ? 1 : 2;
    for (size_t way = 0; way < ways; ++way) {
        for (size_t port = 0; port < ports_.size(); ++port) {
            auto memory = outputs ? engine.output_buffer(port) : engine.input_buffer(port);
            memory.range = (memory.range + 3) / 4 * 4;  // shaders read and write words
            ports_[port].memory.push_back(memory);
        }
        if (ways == 2) engine.swap();
    }
    for (const StatePair& state : states) {
        ports_[outputs ? state.output : state.input].state = true;
    }
    for (size_t port = 0; port < ports_.size(); ++port) {
        const auto& end = ports_[port].memory[0];
        ports_[port].waits =
            !outputs && std::any_of(ports_.begin(), ports_.begin() + static_cast<long>(port),
                                    [&](const Port& other) {
                                        return other.memory[0].buffer == end.buffer &&
                                               other.memory[0].offset == end.offset;
                                    });
    }
    if (ports_.size() * uint64_t{frames} > kMaxSets) {
        throw Error("frames_in_flight is " + std::to_string(frames) +
                    ": with each input or output once, more than " + std::to_string(kMaxSets) +
                    " bindings");
    }
    bound_.resize(ports_.size() * frames);
    if (bound_.empty()) return;
    PortKernels& kernels = device.ports();
    const Kind image = outputs ? Kind::kStorage : Kind::kSampled;
    kernels.compile(Kind::kBuffer);
    if (std::any_of(infos.begin(), infos.end(), may_be_image)) kernels.compile(image);
    const auto sets = static_cast<uint32_t>(bound_.size() * ways);
    const std::array sizes{
        vk::DescriptorPoolSize(vk::DescriptorType::eStorageBuffer, 3 * sets),
        vk::DescriptorPoolSize(
            outputs ? vk::DescriptorType::eStorageImage : vk::DescriptorType::eSampledImage, sets)};
    const vk::raii::Device& owner = device.vulkan();
    pool_ = {owner, vk::DescriptorPoolCreateInfo()
                        .setFlags(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet)
                        .setMaxSets(2 * sets)
                        .setPoolSizes(sizes)};
    const auto make_sets = [&](Kind kind, std::vector<vk::raii::DescriptorSet> Bound::* made) {
        const std::vector<vk::DescriptorSetLayout> layouts(ways, *kernels.layouts(kind).set);
        const auto info =
            vk::DescriptorSetAllocateInfo().setDescriptorPool(*pool_).setSetLayouts(layouts);
        for (Bound& bound : bound_) bound.*made = vk::raii::DescriptorSets(owner, info);
    };
    make_sets(Kind::kBuffer, &Bound::buffers);
    make_sets(image, &Bound::images);
}

void FramePorts::write(const std::vector<vk::raii::DescriptorSet>& sets, size_t port,
                       vk::DescriptorType type, const vk::DescriptorBufferInfo* buffer,
                       const vk::DescriptorImageInfo* image) const {
    // Of two buffers, the first is written.
    const uint32_t ours = buffer != nullptr && outputs_ ? 1 : 0;
    for (size_t way = 0; way < sets.size(); ++way) {
        const std::array writes{
            vk::WriteDescriptorSet(*sets[way], ours, 0, 1, vk::DescriptorType::eStorageBuffer,
                                   nullptr, &ports_[port].memory[way]),
            vk::WriteDescriptorSet(*sets[way], 1 - ours, 0, 1, type, image, buffer)};
        device_.vulkan().updateDescriptorSets(writes, {});
    }
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
    Bound& bound = at(frame, port);
    write(bound.buffers, port, vk::DescriptorType::eStorageBuffer, &given, nullptr);
    const auto place = static_cast<int32_t>(first);
    const uint32_t mask = bytes % 4 == 0 ? ~0U : (1U << 8 * (bytes % 4)) - 1;
    bound.push = {static_cast<int32_t>(words), outputs_ ? place : 0, outputs_ ? 0 : place,
                  static_cast<int32_t>(mask)};
    bound.sets = &bound.buffers;
    bound.threads = static_cast<uint32_t>((words + PORT_WORDS - 1) / PORT_WORDS);
    bound.layout = *device_.ports().layouts(Kind::kBuffer).pipeline;
    bound.pipeline = device_.ports().pipeline(Kind::kBuffer, nullptr, tensor.text);
}

void FramePorts::bind(uint32_t frame, size_t port, const Tensor& tensor,
                      const arm_vgf::Image& image) {
    if (image.view == VK_NULL_HANDLE) throw Error(tensor.text + ": the image's view is null");
    const PortFormat& row = port_format(image.format, outputs_, tensor.type, tensor.text);
    if (!fits(image.layout, row, outputs_)) {
        throw Error(tensor.text + ": its image must be in the layout GENERAL" +
                    (outputs_ ? "" : ", SHADER_READ_ONLY_OPTIMAL or READ_ONLY_OPTIMAL") +
                    (!outputs_ && row.depth ? ", or one that reads depth" : "") +
                    (image.layout == VK_IMAGE_LAYOUT_UNDEFINED
                         ? "; Image::layout was not set"
                         : "; Image::layout is VkImageLayout " + std::to_string(image.layout)));
    }
    const bool planar = image.channels == arm_vgf::Channels::kFirst;
    const std::vector<int64_t> shape = picture_of(tensor.shape, planar);
    if (!is_of(image, row, shape)) {
        const bool other = is_of(image, row, picture_of(tensor.shape, !planar));
        throw Error(
            tensor.text + ": an image of " + std::to_string(image.width) + " x " +
            std::to_string(image.height) + " " + row.name + " with channels " +
            (planar ? "first" : "last") + " does not fit its shape, " + shape_text(tensor.shape) +
            (other ? std::string("; it fits with Channels::") + (planar ? "kLast" : "kFirst")
             : shape.size() == 3
                 ? "; that is " + std::to_string(shape[1]) + " x " + std::to_string(shape[0]) +
                       " with " + std::to_string(shape[2]) + " channels"
                 : "; bind it to a buffer"));
    }
    if (!suits(row, tensor.type)) {
        throw Error(tensor.text + ": a tensor of " + name_of(tensor.type) + " has no texels of " +
                    row.name);
    }
    const Kind kind = outputs_ ? Kind::kStorage : Kind::kSampled;
    const vk::Pipeline compiled =
        device_.ports().pipeline(kind, outputs_ ? &row : nullptr, tensor.text);
    using Usage = vk::ImageUsageFlagBits;
    if (!device_.image_limits(static_cast<vk::Format>(image.format),
                              outputs_ ? Usage::eStorage : Usage::eSampled)) {
        throw Error(tensor.text + ": " + device_.name() + " has no " +
                    (outputs_ ? "storage" : "sampled") + " images of " + row.name);
    }
    Bound& bound = at(frame, port);
    const bool is_signed = row.number == DataType::kInt8 || row.number == DataType::kInt16;
    // Written numbers with signs have a negative scale: see kernels/port_write.comp.
    float scale = is_float(tensor.type) ? 0 : row.scale;
    if (outputs_ && is_signed) scale = -scale;
    const vk::DescriptorImageInfo view({}, image.view, static_cast<vk::ImageLayout>(image.layout));
    write(bound.images, port,
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
    bound.sets = &bound.images;
    bound.layout = *device_.ports().layouts(kind).pipeline;
    const uint64_t bytes = count_of(shape) * size_of(tensor.type);
    bound.threads = outputs_ ? image.width * image.height : static_cast<uint32_t>((bytes + 3) / 4);
    bound.pipeline = compiled;
}

void FramePorts::unbind() {
    for (Bound& bound : bound_) bound.pipeline = nullptr;
}

size_t FramePorts::first_unbound(uint32_t frame) const {
    size_t port = 0;
    while (port < ports_.size() && (ports_[port].state || at(frame, port).pipeline)) ++port;
    return port;
}

void FramePorts::record(const vk::raii::CommandBuffer& commands, uint32_t frame, bool swapped,
                        bool start) const {
    const size_t way = swapped ? 1 : 0;
    for (size_t index = 0; index < ports_.size(); ++index) {
        const Port& port = ports_[index];
        if (port.state && !outputs_ && !start) continue;
        if (port.waits) {
            // The later of two that share memory counts, as in a session.
            constexpr auto kStages =
                vk::PipelineStageFlagBits::eComputeShader | vk::PipelineStageFlagBits::eTransfer;
            constexpr auto kWrites =
                vk::AccessFlagBits::eShaderWrite | vk::AccessFlagBits::eTransferWrite;
            commands.pipelineBarrier(kStages, kStages, {}, vk::MemoryBarrier(kWrites, kWrites), {},
                                     {});
        }
        const Bound& bound = at(frame, index);
        if (!bound.pipeline) {  // only a state is not bound
            const vk::DescriptorBufferInfo& memory = port.memory[way];
            if (!outputs_) commands.fillBuffer(memory.buffer, memory.offset, memory.range, 0);
            continue;
        }
        commands.bindPipeline(vk::PipelineBindPoint::eCompute, bound.pipeline);
        commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, bound.layout, 0,
                                    *(*bound.sets)[way], {});
        commands.pushConstants<int32_t>(bound.layout, vk::ShaderStageFlagBits::eCompute, 0,
                                        bound.push);
        const uint32_t groups = (bound.threads + kThreads - 1) / kThreads;
        const uint32_t rows = (groups + kMaxGroupsPerAxis - 1) / kMaxGroupsPerAxis;
        commands.dispatch((groups + rows - 1) / rows, rows, 1);
    }
}

}  // namespace arm_runtime::vgf
