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
    auto info = vk::BufferCreateInfo()
                    .setSize(aligned(bytes + kAlignment, kAlignment))
                    .setUsage(Usage::eStorageBuffer | Usage::eUniformBuffer | Usage::eTransferSrc |
                              Usage::eTransferDst);
    if (device.families().size() > 1) {
        info.setSharingMode(vk::SharingMode::eConcurrent).setQueueFamilyIndices(device.families());
    }
    buffer.handle = {device.vulkan(), info};
    const auto needs = buffer.handle.getMemoryRequirements();
    buffer.memory = device.allocate(needs, required, preferred);
    buffer.handle.bindMemory(buffer.memory.memory, buffer.memory.offset);
    return buffer;
}

StagedUpload::StagedUpload(const Device& device, const std::vector<uint8_t>& data,
                           const DeviceBuffer& buffer)
    : staging_(make_device_buffer(device, data.size(), kHostMemory, {})),
      to_(*buffer.handle),
      bytes_(data.size()) {
    std::memcpy(staging_.memory.mapped, data.data(), data.size());
}

void StagedUpload::record(const vk::raii::CommandBuffer& commands) const {
    commands.copyBuffer(*staging_.handle, to_, vk::BufferCopy().setSize(bytes_));
}

void upload(Device& device, const std::vector<uint8_t>& data, const DeviceBuffer& buffer) {
    const StagedUpload copies(device, data, buffer);
    Submission copy(device, 0);
    const vk::raii::CommandBuffer& commands = copy.begin();
    copies.record(commands);
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
