#include "images.hpp"

#include <algorithm>

namespace arm_runtime::vgf {
namespace {

constexpr uint32_t kPacked = ~0U;

using Access = vk::AccessFlagBits;
using Stage = vk::PipelineStageFlagBits;

const vk::ImageSubresourceRange kWhole{vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1};

/// Of a resource that is an image, as all resources here are.
const Image& image_of(const Resource& resource) {
    return *resource.image;  // NOLINT(bugprone-unchecked-optional-access)
}

vk::ImageUsageFlags usage_of(VkDescriptorType type) {
    using Usage = vk::ImageUsageFlagBits;
    return Usage::eTransferSrc | Usage::eTransferDst |
           (type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ? Usage::eStorage : Usage::eSampled);
}

vk::Extent3D extent_of(const Image& image) { return {image.width, image.height, 1}; }

}  // namespace

bool has_packed_copy(const Program& program, uint32_t resource) {
    const Resource& image = program.resources[resource];
    if (image.home != Role::kIntermediate) return true;
    return std::count_if(program.resources.begin(), program.resources.end(),
                         [&](const Resource& r) { return r.storage == image.storage; }) > 1;
}

Images::Images(Device& device, const Program& program) : device_(device), program_(program) {
    for (const Segment& segment : program.segments) {
        for (const Binding& binding : segment.bindings) {
            const Resource& resource = program.resources[binding.resource];
            if (!resource.image || objects_.count(binding.resource)) continue;
            make(binding.resource);
            storages_.insert(resource.storage);
        }
    }
}

void Images::allocate(const ResourceMemory& packed) {
    packed_ = &packed;
    for (auto& [index, object] : objects_) {
        const Resource& resource = program_.resources[index];
        object.memory = device_.allocate(object.image.getMemoryRequirements(), {},
                                         vk::MemoryPropertyFlagBits::eDeviceLocal);
        object.image.bindMemory(object.memory.memory, object.memory.offset);
        object.view = {device_.vulkan(), vk::ImageViewCreateInfo()
                                             .setImage(*object.image)
                                             .setViewType(vk::ImageViewType::e2D)
                                             .setFormat(static_cast<vk::Format>(resource.format))
                                             .setSubresourceRange(kWhole)};
        if (resource.descriptor == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER) {
            make_sampler(object, image_of(resource).sampler);
        }
        layouts_.push_back(vk::ImageMemoryBarrier()
                               .setNewLayout(vk::ImageLayout::eGeneral)
                               .setSrcQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                               .setDstQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                               .setImage(*object.image)
                               .setSubresourceRange(kWhole)
                               .setDstAccessMask(Access::eShaderRead | Access::eShaderWrite |
                                                 Access::eTransferRead | Access::eTransferWrite));
    }
}

void Images::make(uint32_t index) {
    const Resource& resource = program_.resources[index];
    const vk::ImageUsageFlags usage = usage_of(resource.descriptor);
    check(index, usage);
    Object& object = objects_[index];
    object.image = {device_.vulkan(), vk::ImageCreateInfo()
                                          .setImageType(vk::ImageType::e2D)
                                          .setFormat(static_cast<vk::Format>(resource.format))
                                          .setExtent(extent_of(image_of(resource)))
                                          .setMipLevels(1)
                                          .setArrayLayers(1)
                                          .setUsage(usage)};
    bytes_ += object.image.getMemoryRequirements().size;
}

void Images::check(uint32_t index, vk::ImageUsageFlags usage) const {
    const Resource& resource = program_.resources[index];
    const Image& image = image_of(resource);
    const std::string what = "VGF resource " + std::to_string(index) + ": " + device_.name() +
                             " has no " +
                             (usage & vk::ImageUsageFlagBits::eStorage ? "storage" : "sampled") +
                             " images of " + image.format->name;
    const auto limits = device_.image_limits(static_cast<vk::Format>(resource.format), usage);
    if (!limits) throw Error(what);
    if (image.width > limits->maxExtent.width || image.height > limits->maxExtent.height ||
        resource.bytes > limits->maxResourceSize) {
        throw Error(what + " and size " + std::to_string(image.width) + " x " +
                    std::to_string(image.height) + ", only up to " +
                    std::to_string(limits->maxExtent.width) + " x " +
                    std::to_string(limits->maxExtent.height));
    }
    const bool linear =
        resource.descriptor == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER &&
        (image.sampler.min == VK_FILTER_LINEAR || image.sampler.mag == VK_FILTER_LINEAR);
    if (linear && !device_.filters(static_cast<vk::Format>(resource.format))) {
        throw Error(what + " with a linear filter; its sampler may be nearest");
    }
}

void Images::make_sampler(Object& object, const Sampler& settings) const {
    object.sampler = {device_.vulkan(),
                      vk::SamplerCreateInfo()
                          .setMinFilter(static_cast<vk::Filter>(settings.min))
                          .setMagFilter(static_cast<vk::Filter>(settings.mag))
                          .setAddressModeU(static_cast<vk::SamplerAddressMode>(settings.u))
                          .setAddressModeV(static_cast<vk::SamplerAddressMode>(settings.v))
                          .setAddressModeW(static_cast<vk::SamplerAddressMode>(settings.v))
                          .setMaxAnisotropy(1)
                          .setBorderColor(static_cast<vk::BorderColor>(settings.border))};
}

vk::DescriptorImageInfo Images::descriptor(uint32_t resource) const {
    const Object& object = objects_.at(resource);
    return {*object.sampler, *object.view, vk::ImageLayout::eGeneral};
}

void Images::begin(const vk::raii::CommandBuffer& commands) {
    // Shaders find every image in one layout, which storage images need anyhow. What they held in
    // an earlier run is done with.
    constexpr auto kStages = Stage::eComputeShader | Stage::eTransfer;
    if (!layouts_.empty()) commands.pipelineBarrier(kStages, kStages, {}, {}, {}, layouts_);
    holders_.clear();
    for (const Resource& resource : program_.resources) {
        const bool filled = resource.role == Role::kInput || resource.role == Role::kConstant;
        if (filled && storages_.count(resource.storage)) holders_[resource.storage] = {kPacked};
    }
}

void Images::prepare(const vk::raii::CommandBuffer& commands, const Segment& segment) {
    const auto place_of = [&](const Binding& binding) {
        return program_.resources[binding.resource].image ? binding.resource : kPacked;
    };
    std::vector<Copy> copies;
    for (const Binding& binding : segment.bindings) {
        const uint32_t storage = program_.resources[binding.resource].storage;
        if (storages_.count(storage)) fetch(storage, place_of(binding), copies);
    }
    record(commands, copies);
    for (const Binding& binding : segment.bindings) {
        const uint32_t storage = program_.resources[binding.resource].storage;
        if (binding.written && storages_.count(storage)) holders_[storage] = {place_of(binding)};
    }
}

void Images::finish(const vk::raii::CommandBuffer& commands) {
    std::vector<Copy> copies;
    for (const Port& port : program_.outputs) {
        const uint32_t storage = program_.resources[port.resource].storage;
        if (storages_.count(storage)) fetch(storage, kPacked, copies);
    }
    record(commands, copies);
    if (copies.empty()) return;
    commands.pipelineBarrier(Stage::eTransfer, Stage::eHost, {},
                             vk::MemoryBarrier(Access::eTransferWrite, Access::eHostRead), {}, {});
}

void Images::fetch(uint32_t storage, uint32_t place, std::vector<Copy>& copies) {
    std::set<uint32_t>& holders = holders_[storage];
    // If nobody holds anything, there is nothing to keep.
    if (!holders.empty() && !holders.count(place)) {
        if (!holders.count(kPacked)) {
            copies.push_back({*holders.begin(), true});
            holders.insert(kPacked);
        }
        if (place != kPacked) copies.push_back({place, false});
    }
    holders.insert(place);
}

void Images::record(const vk::raii::CommandBuffer& commands,
                    const std::vector<Copy>& copies) const {
    if (copies.empty()) return;
    for (const bool pack : {true, false}) {
        const auto layout =
            pack ? vk::ImageLayout::eTransferSrcOptimal : vk::ImageLayout::eTransferDstOptimal;
        change_layouts(commands, copies, pack, vk::ImageLayout::eGeneral, layout);
        for (const Copy& copy : copies) {
            if (copy.pack != pack) continue;
            const vk::DescriptorBufferInfo buffer = packed_->buffer(copy.resource);
            const vk::Image image = *objects_.at(copy.resource).image;
            const auto region =
                vk::BufferImageCopy()
                    .setBufferOffset(buffer.offset)
                    .setImageSubresource({vk::ImageAspectFlagBits::eColor, 0, 0, 1})
                    .setImageExtent(extent_of(image_of(program_.resources[copy.resource])));
            if (pack) {
                commands.copyImageToBuffer(image, layout, buffer.buffer, region);
            } else {
                commands.copyBufferToImage(buffer.buffer, image, layout, region);
            }
        }
        change_layouts(commands, copies, pack, layout, vk::ImageLayout::eGeneral);
    }
}

void Images::change_layouts(const vk::raii::CommandBuffer& commands,
                            const std::vector<Copy>& copies, bool pack, vk::ImageLayout from,
                            vk::ImageLayout to) const {
    const vk::AccessFlags everything = Access::eMemoryRead | Access::eMemoryWrite;
    std::vector<vk::ImageMemoryBarrier> changes;
    for (const Copy& copy : copies) {
        if (copy.pack != pack) continue;
        changes.push_back(vk::ImageMemoryBarrier()
                              .setSrcAccessMask(Access::eMemoryWrite)
                              .setDstAccessMask(everything)
                              .setOldLayout(from)
                              .setNewLayout(to)
                              .setSrcQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                              .setDstQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                              .setImage(*objects_.at(copy.resource).image)
                              .setSubresourceRange(kWhole));
    }
    commands.pipelineBarrier(Stage::eAllCommands, Stage::eAllCommands, {},
                             vk::MemoryBarrier(Access::eMemoryWrite, everything), {}, changes);
}

}  // namespace arm_runtime::vgf
