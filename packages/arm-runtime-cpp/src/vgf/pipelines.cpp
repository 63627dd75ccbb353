#include "pipelines.hpp"

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>

namespace arm_runtime::vgf {
namespace {

/// A capability of SPIR-V, and the feature of Vulkan that has to be enabled for it; "": none has
/// to.
struct Need {
    uint32_t capability;
    const char* feature;
};
constexpr Need kNeeds[] = {
    {spv::CapabilityMatrix, ""},
    {spv::CapabilityShader, ""},
    {spv::CapabilitySampled1D, ""},
    {spv::CapabilityImage1D, ""},
    {spv::CapabilitySampledBuffer, ""},
    {spv::CapabilityImageBuffer, ""},
    {spv::CapabilityImageQuery, ""},
    {spv::CapabilityGroupNonUniform, ""},
    {spv::CapabilityGroupNonUniformVote, ""},
    {spv::CapabilityGroupNonUniformArithmetic, ""},
    {spv::CapabilityGroupNonUniformBallot, ""},
    {spv::CapabilityGroupNonUniformShuffle, ""},
    {spv::CapabilityGroupNonUniformShuffleRelative, ""},
    {spv::CapabilityGroupNonUniformClustered, ""},
    {spv::CapabilityGroupNonUniformQuad, ""},
    {spv::CapabilityFloat64, "shaderFloat64"},
    {spv::CapabilityInt64, "shaderInt64"},
    {spv::CapabilityInt16, "shaderInt16"},
    {spv::CapabilityImageGatherExtended, "shaderImageGatherExtended"},
    {spv::CapabilityStorageImageExtendedFormats, "shaderStorageImageExtendedFormats"},
    {spv::CapabilityStorageImageReadWithoutFormat, "shaderStorageImageReadWithoutFormat"},
    {spv::CapabilityStorageImageWriteWithoutFormat, "shaderStorageImageWriteWithoutFormat"},
    {spv::CapabilityStorageBuffer16BitAccess, "storageBuffer16BitAccess"},
    {spv::CapabilityUniformAndStorageBuffer16BitAccess, "uniformAndStorageBuffer16BitAccess"},
    {spv::CapabilityStoragePushConstant16, "storagePushConstant16"},
    {spv::CapabilityStorageBuffer8BitAccess, "storageBuffer8BitAccess"},
    {spv::CapabilityUniformAndStorageBuffer8BitAccess, "uniformAndStorageBuffer8BitAccess"},
    {spv::CapabilityStoragePushConstant8, "storagePushConstant8"},
    {spv::CapabilityInt8, "shaderInt8"},
    {spv::CapabilityFloat16, "shaderFloat16"},
    {spv::CapabilityVulkanMemoryModel, "vulkanMemoryModel"},
    {spv::CapabilityDotProduct, "shaderIntegerDotProduct"},
    {spv::CapabilityDotProductInputAll, "shaderIntegerDotProduct"},
    {spv::CapabilityDotProductInput4x8Bit, "shaderIntegerDotProduct"},
    {spv::CapabilityDotProductInput4x8BitPacked, "shaderIntegerDotProduct"},
};

/// Whether a device has what a shader's code and bindings need: drivers do not say. What is not
/// known is refused, such as pointers into all of the device's memory.
void check_device(const Device& device, const Program& program, const Segment& segment,
                  const ShaderSegment& shader) {
    for (const uint32_t capability : shader.capabilities) {
        const bool of_arm = capability == spv::CapabilityTensorsARM;
        if (of_arm && device.engine() != EngineKind::kCompute) continue;
        const auto* const need =
            std::find_if(std::begin(kNeeds), std::end(kNeeds),
                         [&](const Need& row) { return row.capability == capability; });
        if (need == std::end(kNeeds)) {
            throw Error("its code needs capability " + std::to_string(capability) +
                        " of SPIR-V, which shaders of a VGF do not get here");
        }
        if (*need->feature != '\0' && !device.features().has(need->feature)) {
            throw Error(device.name() +
                        " lacks what its code needs, or was made without: " + need->feature);
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

Pipeline::Pipeline(Device& device, const Program& program, uint32_t segment,
                   const SegmentCode& code, Counting counting)
    : device_(device), program_(program), index_(segment), segment_(program.segments[segment]) {
    make_layout();
    module_ = {device.vulkan(), vk::ShaderModuleCreateInfo()
                                    .setCodeSize(code.count * sizeof(uint32_t))
                                    .setPCode(code.words)};
    try {
        if (const auto* graph = segment_.graph()) make_graph(*graph, code, counting);
        if (const auto* shader = segment_.shader()) make_shader(*shader, code);
    } catch (const Error& error) {
        throw Error(text_of(segment_, index_) + ": " + error.what(), error.vulkan_result());
    } catch (const vk::SystemError& error) {
        throw Error(text_of(segment_, index_) + ": " + text_of(error), error.code().value());
    }
}

void Pipeline::make_layout() {
    uint32_t sets = 0;
    for (const Binding& b : segment_.bindings) sets = std::max(sets, b.set + 1);
    std::vector<vk::DescriptorSetLayout> handles;
    for (uint32_t set = 0; set < sets; ++set) {
        std::vector<vk::DescriptorSetLayoutBinding> slots;
        for (const Binding& b : segment_.bindings) {
            if (b.set != set) continue;
            const auto type =
                static_cast<vk::DescriptorType>(program_.resources[b.resource].descriptor);
            slots.emplace_back(b.binding, type, 1, vk::ShaderStageFlagBits::eAll);
        }
        set_layouts_.emplace_back(device_.vulkan(),
                                  vk::DescriptorSetLayoutCreateInfo().setBindings(slots));
        handles.push_back(*set_layouts_.back());
    }
    const PushRange push = segment_.push();
    if (push.offset + push.bytes > device_.limits().maxPushConstantsSize) {
        throw Error(text_of(segment_, index_) + ": its push constants end at byte " +
                    std::to_string(push.offset + push.bytes) + "; " + device_.name() + " has " +
                    std::to_string(device_.limits().maxPushConstantsSize));
    }
    const vk::PushConstantRange range(vk::ShaderStageFlagBits::eCompute, push.offset, push.bytes);
    auto info = vk::PipelineLayoutCreateInfo().setSetLayouts(handles);
    if (push.bytes != 0) info.setPushConstantRanges(range);
    layout_ = {device_.vulkan(), info};
}

void Pipeline::make_graph(const GraphSegment& graph, const SegmentCode& code, Counting counting) {
    const ArmCalls& arm = device_.arm();
    const size_t bindings = segment_.bindings.size();
    std::vector<TensorDescription> tensors(bindings + graph.constants.size());
    std::vector<GraphResource> resources(bindings);
    for (size_t i = 0; i < bindings; ++i) {
        const Binding& b = segment_.bindings[i];
        tensors[i] = describe(program_.resources[b.resource], kUsageDataGraph);
        resources[i].pNext = &tensors[i];
        resources[i].set = b.set;
        resources[i].binding = b.binding;
    }
    std::vector<GraphConstant> constants(graph.constants.size());
    for (size_t i = 0; i < constants.size(); ++i) {
        const Constant& c = graph.constants[i];
        TensorDescription& tensor = tensors[bindings + i];
        tensor = describe(program_.resources[c.resource], kUsageDataGraph);
        constants[i].pNext = &tensor;
        constants[i].id = c.id;
        constants[i].data = code.constants[i];
    }
    GraphShaderModule module;
    module.module = *module_;
    module.entry_point = code.entry_point.c_str();
    module.constant_count = static_cast<uint32_t>(constants.size());
    module.constants = constants.data();
    GraphPipelineCreateInfo info;
    PipelineStatisticsCreateInfo allowed;
    SessionStatisticsCreateInfo counted;
    counted.mode = static_cast<uint32_t>(counting);
    if (counting != Counting::kOff) module.pNext = &allowed;
    info.pNext = &module;
    info.layout = *layout_;
    info.resource_count = static_cast<uint32_t>(resources.size());
    info.resources = resources.data();
    VkPipeline pipeline = VK_NULL_HANDLE;
    check(arm.CreateDataGraphPipelinesARM(*device_.vulkan(), VK_NULL_HANDLE,
                                          *device_.cache().handle(), 1, &info, nullptr, &pipeline),
          "vkCreateDataGraphPipelinesARM");
    pipeline_ = vk::raii::Pipeline(device_.vulkan(), pipeline);
    GraphSessionCreateInfo session;
    if (counting != Counting::kOff) session.pNext = &counted;
    session.pipeline = pipeline;
    session_ = make<GraphSessionHandle>(device_.vulkan(), arm.CreateDataGraphPipelineSessionARM,
                                        arm.DestroyDataGraphPipelineSessionARM, session,
                                        "vkCreateDataGraphPipelineSessionARM");
}

void Pipeline::make_shader(const ShaderSegment& shader, const SegmentCode& code) {
    if (!device_.runs_shaders()) {
        throw Error("the data graph queue of " + device_.name() + " runs no compute shaders");
    }
    check_device(device_, program_, segment_, shader);
    const auto stage = vk::PipelineShaderStageCreateInfo()
                           .setStage(vk::ShaderStageFlagBits::eCompute)
                           .setModule(*module_)
                           .setPName(code.entry_point.c_str());
    pipeline_ = {device_.vulkan(), device_.cache().handle(),
                 vk::ComputePipelineCreateInfo().setStage(stage).setLayout(*layout_)};
}

std::vector<Scratch> Pipeline::scratch() const {
    std::vector<Scratch> needs;
    if (!segment_.graph()) return needs;
    const ArmCalls& arm = device_.arm();
    BindPointRequirementsInfo query;
    query.session = *session_;
    uint32_t count = 0;
    const char* const call = "vkGetDataGraphPipelineSessionBindPointRequirementsARM";
    check(arm.GetDataGraphPipelineSessionBindPointRequirementsARM(*device_.vulkan(), &query, &count,
                                                                  nullptr),
          call);
    std::vector<BindPointRequirement> points(count);
    check(arm.GetDataGraphPipelineSessionBindPointRequirementsARM(*device_.vulkan(), &query, &count,
                                                                  points.data()),
          call);
    for (const BindPointRequirement& point : points) {
        for (uint32_t object = 0; object < point.count; ++object) {
            GraphSessionMemoryRequirementsInfo memory;
            memory.session = *session_;
            memory.point = point.point;
            memory.object = object;
            VkMemoryRequirements2 found{};
            found.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
            arm.GetDataGraphPipelineSessionMemoryRequirementsARM(*device_.vulkan(), &memory,
                                                                 &found);
            if (found.memoryRequirements.size == 0) continue;
            needs.push_back({*session_, point.point, object, index_, found.memoryRequirements});
        }
    }
    return needs;
}

void Pipeline::describe_statistics(std::vector<Statistic>& statistics) const {
    if (!segment_.graph()) return;
    const char* const call = "vkGetDataGraphPipelinePropertiesARM";
    const auto ask =
        reinterpret_cast<GetDataGraphPipelinePropertiesARM>(device_.vulkan().getProcAddr(call));
    if (ask == nullptr) throw Error(std::string("the Vulkan driver has no ") + call);
    GraphPipelineInfo pipeline;
    pipeline.pipeline = *pipeline_;
    for (const auto& [property, kind] : {std::pair(kDebugDatabase, "debug database"),
                                         std::pair(kStatisticsInfo, "statistics info")}) {
        GraphPipelineProperty found;
        found.property = property;
        check(ask(*device_.vulkan(), &pipeline, 1, &found), call);
        std::vector<uint8_t> bytes(found.size);
        found.data = bytes.data();
        if (!bytes.empty()) check(ask(*device_.vulkan(), &pipeline, 1, &found), call);
        bytes.resize(std::min(bytes.size(), found.size));
        statistics.push_back({segment_.name, kind, std::move(bytes)});
    }
}

void Pipeline::bind(const ResourceMemory& memory) {
    if (set_layouts_.empty()) return;
    std::map<VkDescriptorType, uint32_t> counts;
    for (const Binding& b : segment_.bindings) ++counts[program_.resources[b.resource].descriptor];
    std::vector<vk::DescriptorPoolSize> sizes;
    sizes.reserve(counts.size());
    for (const auto& [type, count] : counts) {
        sizes.emplace_back(static_cast<vk::DescriptorType>(type), count);
    }
    std::vector<vk::DescriptorSetLayout> layouts;
    layouts.reserve(set_layouts_.size());
    for (const auto& layout : set_layouts_) layouts.push_back(*layout);
    Bound& bound = bound_.emplace_back();
    bound.pool = {device_.vulkan(),
                  vk::DescriptorPoolCreateInfo()
                      .setFlags(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet)
                      .setMaxSets(static_cast<uint32_t>(layouts.size()))
                      .setPoolSizes(sizes)};
    const auto sets =
        vk::DescriptorSetAllocateInfo().setDescriptorPool(*bound.pool).setSetLayouts(layouts);
    bound.sets = vk::raii::DescriptorSets(device_.vulkan(), sets);
    for (const auto& set : bound.sets) bound.handles.push_back(*set);
    for (const Binding& b : segment_.bindings) {
        const Resource& resource = program_.resources[b.resource];
        TensorViewHandle view{};
        WriteTensorDescriptor tensor;
        tensor.views = &view;
        vk::DescriptorBufferInfo buffer;
        vk::DescriptorImageInfo image;
        auto write = vk::WriteDescriptorSet()
                         .setDstSet(bound.handles[b.set])
                         .setDstBinding(b.binding)
                         .setDescriptorCount(1)
                         .setDescriptorType(static_cast<vk::DescriptorType>(resource.descriptor));
        if (resource.descriptor == kDescriptorTensor) {
            view = memory.view(b.resource);
            write.setPNext(&tensor);
        } else if (resource.image) {
            image = memory.image(b.resource);
            write.setPImageInfo(&image);
        } else {
            buffer = memory.buffer(b.resource);
            write.setPBufferInfo(&buffer);
        }
        device_.vulkan().updateDescriptorSets(write, {});
    }
}

void Pipeline::push(const uint8_t* bytes) { pushed_.assign(bytes, bytes + segment_.push().bytes); }

void Pipeline::record(const vk::raii::CommandBuffer& commands, size_t which) const {
    const ShaderSegment* const shader = segment_.shader();
    const auto point = shader ? vk::PipelineBindPoint::eCompute
                              : static_cast<vk::PipelineBindPoint>(kBindPointDataGraph);
    commands.bindPipeline(point, *pipeline_);
    if (!bound_.empty()) {
        commands.bindDescriptorSets(point, *layout_, 0, bound_[which].handles, {});
    }
    if (!pushed_.empty()) {
        commands.pushConstants<uint8_t>(*layout_, vk::ShaderStageFlagBits::eCompute,
                                        segment_.push().offset, pushed_);
    }
    if (shader) {
        commands.dispatch(shader->groups[0], shader->groups[1], shader->groups[2]);
    } else {
        device_.arm().CmdDispatchDataGraphARM(*commands, *session_, nullptr);
    }
}

}  // namespace arm_runtime::vgf
