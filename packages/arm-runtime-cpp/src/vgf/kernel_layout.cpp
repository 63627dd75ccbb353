#include "kernel_layout.hpp"

#include <utility>

#include "kernels/steps.h"

namespace arm_runtime::vgf {

KernelLayout::KernelLayout(Device& device, const std::array<DeviceBuffer, kBuffers>& buffers,
                           bool swapped)
    : device_(device) {
    const vk::raii::Device& owner = device.vulkan();
    constexpr auto kType = vk::DescriptorType::eStorageBuffer;
    std::array<vk::DescriptorSetLayoutBinding, kBuffers> bindings;
    for (uint32_t i = 0; i < kBuffers; ++i) {
        bindings[i].setBinding(i).setDescriptorType(kType).setDescriptorCount(1).setStageFlags(
            vk::ShaderStageFlagBits::eCompute);
    }
    set_layout_ = {owner, vk::DescriptorSetLayoutCreateInfo().setBindings(bindings)};
    const auto push = vk::PushConstantRange()
                          .setStageFlags(vk::ShaderStageFlagBits::eCompute)
                          .setSize(kPushInts * sizeof(int32_t));
    layout_ = {
        owner,
        vk::PipelineLayoutCreateInfo().setSetLayouts(*set_layout_).setPushConstantRanges(push)};
    const uint32_t count = swapped ? 2 : 1;
    const auto size = vk::DescriptorPoolSize().setType(kType).setDescriptorCount(count * kBuffers);
    pool_ = {owner, vk::DescriptorPoolCreateInfo()
                        .setFlags(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet)
                        .setMaxSets(count)
                        .setPoolSizes(size)};
    const std::vector<vk::DescriptorSetLayout> layouts(count, *set_layout_);
    sets_ = vk::raii::DescriptorSets(
        owner, vk::DescriptorSetAllocateInfo().setDescriptorPool(*pool_).setSetLayouts(layouts));
    std::array<vk::DescriptorBufferInfo, kBuffers> infos;
    std::array<vk::WriteDescriptorSet, kBuffers> writes;
    for (uint32_t i = 0; i < kBuffers; ++i)
        infos[i].setBuffer(*buffers[i].handle).setRange(VK_WHOLE_SIZE);
    for (const vk::raii::DescriptorSet& set : sets_) {
        for (uint32_t i = 0; i < kBuffers; ++i) {
            writes[i] = vk::WriteDescriptorSet(*set, i, 0, 1, kType, nullptr, &infos[i]);
        }
        owner.updateDescriptorSets(writes, {});
        std::swap(infos[BUFFER_INPUTS], infos[BUFFER_OUTPUTS]);
    }
}

vk::raii::Pipeline KernelLayout::compile(const Dispatch& dispatch) const {
    const vk::raii::ShaderModule module(device_.vulkan(),
                                        vk::ShaderModuleCreateInfo().setCode(*dispatch.spirv));
    std::vector<vk::SpecializationMapEntry> entries;
    std::vector<uint32_t> values;
    for (const auto& [id, value] : dispatch.specialization) {
        const auto offset = static_cast<uint32_t>(values.size() * sizeof(uint32_t));
        entries.emplace_back(id, offset, sizeof(uint32_t));
        values.push_back(value);
    }
    const auto special = vk::SpecializationInfo().setMapEntries(entries).setData<uint32_t>(values);
    vk::PipelineShaderStageCreateFlags flags;
    if (dispatch.full_subgroups)
        flags = vk::PipelineShaderStageCreateFlagBits::eRequireFullSubgroups;
    const auto stage = vk::PipelineShaderStageCreateInfo()
                           .setFlags(flags)
                           .setStage(vk::ShaderStageFlagBits::eCompute)
                           .setModule(*module)
                           .setPName("main")
                           .setPSpecializationInfo(&special);
    return {device_.vulkan(), device_.cache().handle(),
            vk::ComputePipelineCreateInfo().setStage(stage).setLayout(*layout_)};
}

void KernelLayout::bind(const vk::raii::CommandBuffer& commands, size_t set) const {
    commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, *layout_, 0, *sets_[set], {});
}

void KernelLayout::dispatch(const vk::raii::CommandBuffer& commands,
                            const Dispatch& dispatch) const {
    commands.pushConstants<int32_t>(*layout_, vk::ShaderStageFlagBits::eCompute, 0, dispatch.push);
    commands.dispatch(dispatch.groups[0], dispatch.groups[1], 1);
}

}  // namespace arm_runtime::vgf
