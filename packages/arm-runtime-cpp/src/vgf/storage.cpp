#include "storage.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "device_buffer.hpp"

namespace arm_runtime::vgf {
namespace {

/// A block for resources that share memory, or for one.
struct SharedNeeds {
    uint64_t size = 0;
    uint64_t alignment = 1;
    uint32_t types = ~0U;

    void add(const vk::MemoryRequirements& needs) {
        size = std::max(size, needs.size);
        alignment = std::max(alignment, needs.alignment);
        types &= needs.memoryTypeBits;
    }
};

}  // namespace

TensorDescription describe(const Resource& resource, uint64_t usage) {
    TensorDescription description;
    description.format = resource.format;
    description.rank = static_cast<uint32_t>(resource.shape.size());
    description.shape = resource.shape.data();
    description.usage = usage;
    return description;
}

Storage::Storage(Device& device, const Program& program)
    : device_(device),
      program_(program),
      objects_(program.resources.size()),
      images_(device, program) {
    find_uses();
    for (uint32_t i = 0; i < objects_.size(); ++i) {
        if (objects_[i].usage == 0) continue;
        if (program.resources[i].descriptor == kDescriptorTensor) {
            make_tensor(i);
        } else {
            make_buffer(i);
        }
    }
}

void Storage::find_uses() {
    for (uint32_t step = 0; step < program_.segments.size(); ++step) {
        const Segment& segment = program_.segments[step];
        for (const Binding& binding : segment.bindings) {
            Object& object = objects_[binding.resource];
            if (object.usage == 0) object.first = step;
            object.last = step;
            object.usage |= segment.graph() ? kUsageDataGraph : kUsageShader;
        }
    }
    for (uint32_t i = 0; i < objects_.size(); ++i) {
        if (program_.resources[i].image && !has_packed_copy(program_, i)) objects_[i].usage = 0;
    }
    // An input that nothing reads is still written, an output that nothing writes still read.
    for (const auto* ports : {&program_.inputs, &program_.outputs}) {
        for (const Port& port : *ports) {
            Object& object = objects_[port.resource];
            if (object.usage == 0) object.usage = kUsageDataGraph;
        }
    }
}

void Storage::make_tensor(uint32_t index) {
    const Resource& resource = program_.resources[index];
    const TensorProperties& limits = device_.tensor_limits();
    const uint64_t largest =
        static_cast<uint64_t>(*std::max_element(resource.shape.begin(), resource.shape.end()));
    if (resource.shape.size() > limits.max_rank || resource.bytes > limits.max_bytes ||
        largest > limits.max_elements_per_dimension) {
        throw Error("VGF resource " + std::to_string(index) + ": a tensor of rank " +
                    std::to_string(resource.shape.size()) + " and " +
                    std::to_string(resource.bytes) + " bytes is too large for " + device_.name());
    }
    Object& object = objects_[index];
    const TensorDescription description = describe(resource, object.usage);
    TensorCreateInfo info;
    info.description = &description;
    const ArmCalls& arm = device_.arm();
    object.tensor = make<TensorHandle>(device_.vulkan(), arm.CreateTensorARM, arm.DestroyTensorARM,
                                       info, "vkCreateTensorARM");
    TensorMemoryRequirementsInfo query;
    query.tensor = *object.tensor;
    VkMemoryRequirements2 needs{};
    needs.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    arm.GetTensorMemoryRequirementsARM(*device_.vulkan(), &query, &needs);
    object.needs = needs.memoryRequirements;
}

void Storage::make_buffer(uint32_t index) {
    using Usage = vk::BufferUsageFlagBits;
    const Resource& resource = program_.resources[index];
    vk::BufferUsageFlags usage = Usage::eStorageBuffer;
    if (resource.image) {
        usage = Usage::eTransferSrc | Usage::eTransferDst;
    } else if (resource.descriptor == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER) {
        usage = Usage::eUniformBuffer;
    }
    Object& object = objects_[index];
    object.buffer = {device_.vulkan(),
                     vk::BufferCreateInfo().setSize(resource.bytes).setUsage(usage)};
    object.needs = object.buffer.getMemoryRequirements();
}

std::vector<std::vector<uint32_t>> Storage::shared_by(std::initializer_list<Role> roles) const {
    std::map<uint32_t, std::vector<uint32_t>> found;
    for (uint32_t i = 0; i < objects_.size(); ++i) {
        const Resource& resource = program_.resources[i];
        const bool wanted = std::find(roles.begin(), roles.end(), resource.home) != roles.end();
        if (wanted && objects_[i].usage != 0) found[resource.storage].push_back(i);
    }
    std::vector<std::vector<uint32_t>> groups;
    groups.reserve(found.size());
    for (auto& [storage, members] : found) groups.push_back(std::move(members));
    return groups;
}

void Storage::bind(const std::vector<Scratch>& scratch, const Uploads& uploads) {
    // The host writes inputs and reads outputs: on a GPU with memory of its own, inputs are better
    // there, while outputs are better in memory that the host can cache.
    use_.inputs = bind_mapped({Role::kInput, Role::kConstant},
                              vk::MemoryPropertyFlagBits::eDeviceLocal, inputs_);
    use_.outputs = bind_mapped({Role::kOutput}, vk::MemoryPropertyFlagBits::eHostCached, outputs_);
    bind_work(scratch);
    images_.allocate(*this);
    use_.work += images_.bytes();
    for (const auto& [resource, data] : uploads) {
        std::memcpy(mapped(resource), data, program_.resources[resource].bytes);
    }
    const ArmCalls& arm = device_.arm();
    for (uint32_t i = 0; i < objects_.size(); ++i) {
        if (*objects_[i].tensor == TensorHandle{}) continue;
        TensorViewCreateInfo info;
        info.tensor = *objects_[i].tensor;
        info.format = program_.resources[i].format;
        objects_[i].view =
            make<TensorViewHandle>(device_.vulkan(), arm.CreateTensorViewARM,
                                   arm.DestroyTensorViewARM, info, "vkCreateTensorViewARM");
    }
}

uint64_t Storage::bind_mapped(std::initializer_list<Role> roles, vk::MemoryPropertyFlags preferred,
                              Memory& memory) {
    const auto groups = shared_by(roles);
    if (groups.empty()) return 0;
    std::vector<Block> blocks;
    uint32_t types = ~0U;
    for (const auto& members : groups) {
        SharedNeeds needs;
        for (const uint32_t member : members) needs.add(objects_[member].needs);
        blocks.push_back({needs.size, needs.alignment, 0, 0});
        types &= needs.types;
    }
    const uint64_t size = plan(blocks);
    memory = device_.allocate({size, 1, types}, kHostMemory, preferred);
    for (size_t i = 0; i < groups.size(); ++i) {
        for (const uint32_t member : groups[i]) {
            bind_object(member, *memory.handle, blocks[i].offset);
            objects_[member].mapped = memory.mapped + blocks[i].offset;
        }
    }
    return size;
}

void Storage::bind_work(const std::vector<Scratch>& scratch) {
    const auto groups = shared_by({Role::kIntermediate});
    if (groups.empty() && scratch.empty()) return;
    std::vector<Block> blocks;
    uint32_t types = ~0U;
    uint64_t unshared = 0;
    for (const auto& members : groups) {
        SharedNeeds needs;
        uint32_t first = ~0U;
        uint32_t last = 0;
        for (const uint32_t member : members) {
            needs.add(objects_[member].needs);
            first = std::min(first, objects_[member].first);
            last = std::max(last, objects_[member].last);
            unshared += objects_[member].needs.size;
        }
        blocks.push_back({needs.size, needs.alignment, first, last});
        types &= needs.types;
    }
    for (const Scratch& s : scratch) {
        blocks.push_back({s.needs.size, s.needs.alignment, s.segment, s.segment});
        types &= s.needs.memoryTypeBits;
        unshared += s.needs.size;
    }
    use_.work = plan(blocks);
    use_.saved = unshared > use_.work ? unshared - use_.work : 0;  // alignment may cost a little
    work_ = device_.allocate({use_.work, 1, types}, {}, vk::MemoryPropertyFlagBits::eDeviceLocal);
    for (size_t i = 0; i < groups.size(); ++i) {
        for (const uint32_t member : groups[i]) {
            bind_object(member, *work_.handle, blocks[i].offset);
        }
    }
    for (size_t i = 0; i < scratch.size(); ++i) {
        BindGraphSessionMemoryInfo info;
        info.session = scratch[i].session;
        info.point = scratch[i].point;
        info.object = scratch[i].object;
        info.memory = *work_.handle;
        info.offset = blocks[groups.size() + i].offset;
        check(device_.arm().BindDataGraphPipelineSessionMemoryARM(*device_.vulkan(), 1, &info),
              "vkBindDataGraphPipelineSessionMemoryARM");
    }
}

void Storage::bind_object(uint32_t resource, vk::DeviceMemory memory, uint64_t offset) {
    const Object& object = objects_[resource];
    if (program_.resources[resource].descriptor != kDescriptorTensor) {
        object.buffer.bindMemory(memory, offset);
        return;
    }
    BindTensorMemoryInfo info;
    info.tensor = *object.tensor;
    info.memory = memory;
    info.offset = offset;
    check(device_.arm().BindTensorMemoryARM(*device_.vulkan(), 1, &info), "vkBindTensorMemoryARM");
}

}  // namespace arm_runtime::vgf
