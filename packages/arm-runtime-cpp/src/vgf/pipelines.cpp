#include "pipelines.hpp"

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>

namespace arm_runtime::vgf {
namespace {

/// Whether a device has what a shader's code and bindings need: drivers do not say.
void check_device(const Device& device, const Program& program, const Segment& segment) {
    struct Need {
        uint32_t capability;
        vk::Bool32 vk::PhysicalDeviceFeatures::*feature;
        const char* name;
    };
    static constexpr Need kNeeds[] = {
        {spv::CapabilityFloat64, &vk::PhysicalDeviceFeatures::shaderFloat64, "64-bit numbers"},
        {spv::CapabilityInt64, &vk::PhysicalDeviceFeatures::shaderInt64, "64-bit integers"},
        {spv::CapabilityInt16, &vk::PhysicalDeviceFeatures::shaderInt16, "16-bit integers"},
        {spv::CapabilityImageGatherExtended, &vk::PhysicalDeviceFeatures::shaderImageGatherExtended,
         "textureGather with offsets"},
        {spv::CapabilityStorageImageExtendedFormats,
         &vk::PhysicalDeviceFeatures::shaderStorageImageExtendedFormats,
         "storage images of all formats"},
        {spv::CapabilityStorageImageReadWithoutFormat,
         &vk::PhysicalDeviceFeatures::shaderStorageImageReadWithoutFormat,
         "reading storage images whose format the code does not name"},
        {spv::CapabilityStorageImageWriteWithoutFormat,
         &vk::PhysicalDeviceFeatures::shaderStorageImageWriteWithoutFormat,
         "writing storage images whose format the code does not name"},
    };
    for (const Need& need : kNeeds) {
        if (segment.capabilities.count(need.capability) && !(device.features().*need.feature)) {
            throw Error(device.name() + " lacks what its code needs: " + need.name);
        }
    }
    uint32_t stored = 0;
    uint32_t sampled = 0;
    for (const Binding& b : segment.bindings) {
        const Resource& resource = program.resources[b.resource];
        if (!resource.image) continue;
        ++(resource.descriptor == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE ? stored : sampled);
    }
    const vk::PhysicalDeviceLimits& limits = device.limits();
    const uint32_t most =
        std::min(limits.maxPerStageDescriptorSampledImages, limits.maxPerStageDescriptorSamplers);
    if (stored > limits.maxPerStageDescriptorStorageImages || sampled > most) {
        throw Error("it binds " + std::to_string(stored) + " storage and " +
                    std::to_string(sampled) + " sampled images; shaders on " + device.name() +
                    " take " + std::to_string(limits.maxPerStageDescriptorStorageImages) + " and " +
                    std::to_string(most));
    }
}

}  // namespace

Pipeline::Pipeline(Device& device, const Program& program, uint32_t segment)
    : device_(device), program_(program), index_(segment), segment_(program.segments[segment]) {
    const DeviceCalls& calls = device_.calls();
    make_layout();
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = segment_.code_words * sizeof(uint32_t);
    info.pCode = segment_.code;
    module_ = make<VkShaderModule>(device_.handle(), calls.CreateShaderModule,
                                   calls.DestroyShaderModule, info, "vkCreateShaderModule");
    try {
        segment_.graph ? make_graph() : make_shader();
    } catch (const Error& error) {
        throw Error("VGF segment " + std::to_string(index_) + " ('" + segment_.name +
                    "'): " + error.what());
    } catch (const vk::SystemError& error) {
        throw Error("VGF segment " + std::to_string(index_) + " ('" + segment_.name +
                    "'): " + text_of(error));
    }
}

void Pipeline::make_layout() {
    const DeviceCalls& calls = device_.calls();
    uint32_t sets = 0;
    for (const Binding& b : segment_.bindings) sets = std::max(sets, b.set + 1);
    std::vector<VkDescriptorSetLayout> handles;
    for (uint32_t set = 0; set < sets; ++set) {
        std::vector<VkDescriptorSetLayoutBinding> slots;
        for (const Binding& b : segment_.bindings) {
            if (b.set != set) continue;
            slots.push_back({b.binding, program_.resources[b.resource].descriptor, 1,
                             VK_SHADER_STAGE_ALL, nullptr});
        }
        VkDescriptorSetLayoutCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        info.bindingCount = static_cast<uint32_t>(slots.size());
        info.pBindings = slots.data();
        set_layouts_.push_back(make<VkDescriptorSetLayout>(
            device_.handle(), calls.CreateDescriptorSetLayout, calls.DestroyDescriptorSetLayout,
            info, "vkCreateDescriptorSetLayout"));
        handles.push_back(set_layouts_.back());
    }
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = sets;
    info.pSetLayouts = handles.data();
    const PushRange& push = segment_.push;
    if (push.offset + push.bytes > device_.limits().maxPushConstantsSize) {
        throw Error("VGF segment " + std::to_string(index_) + " ('" + segment_.name +
                    "'): its push constants end at byte " +
                    std::to_string(push.offset + push.bytes) + "; " + device_.name() + " has " +
                    std::to_string(device_.limits().maxPushConstantsSize));
    }
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, push.offset, push.bytes};
    info.pushConstantRangeCount = push.bytes == 0 ? 0 : 1;
    info.pPushConstantRanges = &range;
    layout_ = make<VkPipelineLayout>(device_.handle(), calls.CreatePipelineLayout,
                                     calls.DestroyPipelineLayout, info, "vkCreatePipelineLayout");
}

void Pipeline::make_graph() {
    const DeviceCalls& calls = device_.calls();
    const size_t bindings = segment_.bindings.size();
    std::vector<TensorDescription> tensors(bindings + segment_.constants.size());
    std::vector<GraphResource> resources(bindings);
    for (size_t i = 0; i < bindings; ++i) {
        const Binding& b = segment_.bindings[i];
        tensors[i] = describe(program_.resources[b.resource], kUsageDataGraph);
        resources[i].pNext = &tensors[i];
        resources[i].set = b.set;
        resources[i].binding = b.binding;
    }
    std::vector<GraphConstant> constants(segment_.constants.size());
    std::vector<GraphConstantSparsity> sparsity(segment_.constants.size());
    for (size_t i = 0; i < constants.size(); ++i) {
        const Constant& c = segment_.constants[i];
        TensorDescription& tensor = tensors[bindings + i];
        tensor = describe(program_.resources[c.resource], kUsageDataGraph);
        if (c.sparse_dimension >= 0) {
            sparsity[i].dimension = static_cast<uint32_t>(c.sparse_dimension);
            tensor.pNext = &sparsity[i];
        }
        constants[i].pNext = &tensor;
        constants[i].id = c.id;
        constants[i].data = c.data;
    }
    GraphShaderModule module;
    module.module = module_;
    module.entry_point = segment_.entry_point.c_str();
    module.constant_count = static_cast<uint32_t>(constants.size());
    module.constants = constants.data();
    GraphPipelineCreateInfo info;
    info.pNext = &module;
    info.layout = layout_;
    info.resource_count = static_cast<uint32_t>(resources.size());
    info.resources = resources.data();
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(
        calls.CreateDataGraphPipelinesARM(device_.handle(), VK_NULL_HANDLE,
                                          *device_.cache().handle(), 1, &info, nullptr, &pipeline),
        "vkCreateDataGraphPipelinesARM");
    pipeline_ = Owned<VkPipeline>(device_.handle(), pipeline, calls.DestroyPipeline);
    GraphSessionCreateInfo session;
    session.pipeline = pipeline_;
    session_ = make<GraphSessionHandle>(device_.handle(), calls.CreateDataGraphPipelineSessionARM,
                                        calls.DestroyDataGraphPipelineSessionARM, session,
                                        "vkCreateDataGraphPipelineSessionARM");
}

void Pipeline::make_shader() {
    if (!device_.runs_shaders()) {
        throw Error("the data graph queue of " + device_.name() + " runs no compute shaders");
    }
    check_device(device_, program_, segment_);
    const DeviceCalls& calls = device_.calls();
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module_;
    info.stage.pName = segment_.entry_point.c_str();
    info.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(calls.CreateComputePipelines(device_.handle(), *device_.cache().handle(), 1, &info,
                                       nullptr, &pipeline),
          "vkCreateComputePipelines");
    pipeline_ = Owned<VkPipeline>(device_.handle(), pipeline, calls.DestroyPipeline);
}

std::vector<Scratch> Pipeline::scratch() const {
    std::vector<Scratch> needs;
    if (!segment_.graph) return needs;
    const DeviceCalls& calls = device_.calls();
    BindPointRequirementsInfo query;
    query.session = session_;
    uint32_t count = 0;
    const char* const call = "vkGetDataGraphPipelineSessionBindPointRequirementsARM";
    check(calls.GetDataGraphPipelineSessionBindPointRequirementsARM(device_.handle(), &query,
                                                                    &count, nullptr),
          call);
    std::vector<BindPointRequirement> points(count);
    check(calls.GetDataGraphPipelineSessionBindPointRequirementsARM(device_.handle(), &query,
                                                                    &count, points.data()),
          call);
    for (const BindPointRequirement& point : points) {
        for (uint32_t object = 0; object < point.count; ++object) {
            GraphSessionMemoryRequirementsInfo memory;
            memory.session = session_;
            memory.point = point.point;
            memory.object = object;
            VkMemoryRequirements2 found{};
            found.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
            calls.GetDataGraphPipelineSessionMemoryRequirementsARM(device_.handle(), &memory,
                                                                   &found);
            if (found.memoryRequirements.size == 0) continue;
            needs.push_back({session_, point.point, object, index_, found.memoryRequirements});
        }
    }
    return needs;
}

DescriptorSets::DescriptorSets(Device& device, const std::vector<VkDescriptorPoolSize>& sizes,
                               const std::vector<VkDescriptorSetLayout>& layouts)
    : device_(device), sets_(layouts.size()) {
    const DeviceCalls& calls = device.calls();
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    pool.maxSets = static_cast<uint32_t>(layouts.size());
    pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
    pool.pPoolSizes = sizes.data();
    pool_ = make<VkDescriptorPool>(device.handle(), calls.CreateDescriptorPool,
                                   calls.DestroyDescriptorPool, pool, "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocate.descriptorPool = pool_;
    allocate.descriptorSetCount = static_cast<uint32_t>(layouts.size());
    allocate.pSetLayouts = layouts.data();
    check(calls.AllocateDescriptorSets(device.handle(), &allocate, sets_.data()),
          "vkAllocateDescriptorSets");
}

DescriptorSets::~DescriptorSets() {
    device_.calls().FreeDescriptorSets(device_.handle(), pool_, static_cast<uint32_t>(sets_.size()),
                                       sets_.data());
}

void Pipeline::bind(const ResourceMemory& memory) {
    if (set_layouts_.empty()) return;
    const DeviceCalls& calls = device_.calls();
    std::map<VkDescriptorType, uint32_t> counts;
    for (const Binding& b : segment_.bindings) ++counts[program_.resources[b.resource].descriptor];
    std::vector<VkDescriptorPoolSize> sizes;
    sizes.reserve(counts.size());
    for (const auto& [type, count] : counts) sizes.push_back({type, count});
    const std::vector<VkDescriptorSetLayout> layouts(set_layouts_.begin(), set_layouts_.end());
    sets_.emplace(device_, sizes, layouts);
    for (const Binding& b : segment_.bindings) {
        const Resource& resource = program_.resources[b.resource];
        const VkDescriptorType type = resource.descriptor;
        const TensorViewHandle view =
            type == kDescriptorTensor ? memory.view(b.resource) : TensorViewHandle{};
        WriteTensorDescriptor tensor;
        tensor.views = &view;
        VkDescriptorBufferInfo buffer{};
        VkDescriptorImageInfo image{};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = sets_->handles()[b.set];
        write.dstBinding = b.binding;
        write.descriptorCount = 1;
        write.descriptorType = type;
        if (type == kDescriptorTensor) {
            write.pNext = &tensor;
        } else if (resource.image) {
            image = memory.image(b.resource);
            write.pImageInfo = &image;
        } else {
            buffer = memory.buffer(b.resource);
            write.pBufferInfo = &buffer;
        }
        calls.UpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    }
}

void Pipeline::push(const uint8_t* bytes) { pushed_.assign(bytes, bytes + segment_.push.bytes); }

void Pipeline::record(VkCommandBuffer commands) const {
    const DeviceCalls& calls = device_.calls();
    const VkPipelineBindPoint point =
        segment_.graph ? kBindPointDataGraph : VK_PIPELINE_BIND_POINT_COMPUTE;
    calls.CmdBindPipeline(commands, point, pipeline_);
    if (sets_) {
        const std::vector<VkDescriptorSet>& sets = sets_->handles();
        calls.CmdBindDescriptorSets(commands, point, layout_, 0, static_cast<uint32_t>(sets.size()),
                                    sets.data(), 0, nullptr);
    }
    if (!pushed_.empty()) {
        calls.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, segment_.push.offset,
                               segment_.push.bytes, pushed_.data());
    }
    if (segment_.graph) {
        calls.CmdDispatchDataGraphARM(commands, session_, nullptr);
    } else {
        calls.CmdDispatch(commands, segment_.groups[0], segment_.groups[1], segment_.groups[2]);
    }
}

}  // namespace arm_runtime::vgf
