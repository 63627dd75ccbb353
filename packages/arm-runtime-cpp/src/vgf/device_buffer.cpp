#include "device_buffer.hpp"

#include <cstring>

#include "memory_plan.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {

DeviceBuffer make_device_buffer(const Device& device, uint64_t bytes,
                                vk::MemoryPropertyFlags required,
                                vk::MemoryPropertyFlags preferred) {
    constexpr uint64_t kAlignment = 256;
    using Usage = vk::BufferUsageFlagBits;
    DeviceBuffer buffer;
    buffer.handle = {device.vulkan(), vk::BufferCreateInfo()
                                          .setSize(aligned(bytes + kAlignment, kAlignment))
                                          .setUsage(Usage::eStorageBuffer | Usage::eUniformBuffer |
                                                    Usage::eTransferSrc | Usage::eTransferDst)};
    const auto needs = buffer.handle.getMemoryRequirements();
    buffer.memory = device.allocate(needs, required, preferred);
    buffer.handle.bindMemory(buffer.memory.memory, buffer.memory.offset);
    return buffer;
}

void upload(Device& device, const std::vector<uint8_t>& data, const DeviceBuffer& buffer) {
    const DeviceBuffer staging = make_device_buffer(device, data.size(), kHostMemory, {});
    std::memcpy(staging.memory.mapped, data.data(), data.size());
    Submission copy(device, 0);
    const vk::raii::CommandBuffer& commands = copy.begin();
    commands.copyBuffer(*staging.handle, *buffer.handle, vk::BufferCopy().setSize(data.size()));
    const auto barrier =
        vk::MemoryBarrier()
            .setSrcAccessMask(vk::AccessFlagBits::eTransferWrite)
            .setDstAccessMask(vk::AccessFlagBits::eShaderRead | vk::AccessFlagBits::eUniformRead);
    commands.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer,
                             vk::PipelineStageFlagBits::eComputeShader, {}, barrier, {}, {});
    copy.end();
    copy.run();
}

}  // namespace arm_runtime::vgf
