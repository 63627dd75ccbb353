#include "device_buffer.hpp"

#include <cstring>

#include "memory_plan.hpp"
#include "submission.hpp"

namespace arm_runtime::vgf {

DeviceBuffer make_device_buffer(const Device& device, uint64_t bytes,
                                VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred) {
    constexpr uint64_t kAlignment = 256;
    const DeviceCalls& calls = device.calls();
    DeviceBuffer buffer;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = aligned(bytes + kAlignment, kAlignment);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    buffer.handle = make<VkBuffer>(device.handle(), calls.CreateBuffer, calls.DestroyBuffer, info,
                                   "vkCreateBuffer");
    VkMemoryRequirements needs{};
    calls.GetBufferMemoryRequirements(device.handle(), buffer.handle, &needs);
    buffer.memory = device.allocate(needs.size, needs.memoryTypeBits, required, preferred);
    check(calls.BindBufferMemory(device.handle(), buffer.handle, buffer.memory.handle, 0),
          "vkBindBufferMemory");
    return buffer;
}

void upload(Device& device, const std::vector<uint8_t>& data, const DeviceBuffer& buffer) {
    const DeviceBuffer staging = make_device_buffer(device, data.size(), kHostMemory, 0);
    std::memcpy(staging.memory.mapped, data.data(), data.size());
    Submission copy(device, 0);
    const VkCommandBuffer commands = copy.begin();
    VkBufferCopy region{};
    region.size = data.size();
    device.calls().CmdCopyBuffer(commands, staging.handle, buffer.handle, 1, &region);
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT;
    device.calls().CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0,
                                      nullptr, 0, nullptr);
    copy.end();
    copy.run();
}

}  // namespace arm_runtime::vgf
