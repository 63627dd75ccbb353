// Where the resources of a program lie, for descriptors.
#pragma once

#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

class ResourceMemory {
  public:
    ResourceMemory() = default;
    virtual ~ResourceMemory() = default;
    ResourceMemory(const ResourceMemory&) = delete;
    ResourceMemory& operator=(const ResourceMemory&) = delete;

    virtual TensorViewHandle view(uint32_t resource) const = 0;
    /// Of an image: of its packed copy.
    virtual VkDescriptorBufferInfo buffer(uint32_t resource) const = 0;
    virtual VkDescriptorImageInfo image(uint32_t resource) const = 0;
};

}  // namespace arm_runtime::vgf
