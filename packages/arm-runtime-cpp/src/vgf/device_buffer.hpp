// A buffer with memory of its own.
#pragma once

#include <vector>

#include "device.hpp"

namespace arm_runtime::vgf {

/// What the host sees without flushing.
constexpr vk::MemoryPropertyFlags kHostMemory =
    vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;

struct DeviceBuffer {
    Memory memory;  // before the handle, which goes first
    vk::raii::Buffer handle{nullptr};
};

/// A buffer of at least `bytes` that shaders read and write: kernels take whole vectors, so that it
/// is a little larger. Throws Error.
DeviceBuffer make_device_buffer(const Device& device, uint64_t bytes,
                                vk::MemoryPropertyFlags required,
                                vk::MemoryPropertyFlags preferred);

/// Bytes on their way to a buffer that the host does not see.
class StagedUpload {
  public:
    StagedUpload(const Device& device, const std::vector<uint8_t>& data,
                 const DeviceBuffer& buffer);
    /// Records the copy, without a barrier behind it.
    void record(const vk::raii::CommandBuffer& commands) const;

  private:
    DeviceBuffer staging_;
    vk::Buffer to_;
    uint64_t bytes_;
};

/// The same in a submission of our own, which is done then.
void upload(Device& device, const std::vector<uint8_t>& data, const DeviceBuffer& buffer);

}  // namespace arm_runtime::vgf
