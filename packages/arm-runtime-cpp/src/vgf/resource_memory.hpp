// Where the resources of a program lie, for descriptors.
#pragma once

#include "vulkan_api.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {

class ResourceMemory {
  public:
    ResourceMemory() = default;
    virtual ~ResourceMemory() = default;
    ResourceMemory(const ResourceMemory&) = delete;
    ResourceMemory& operator=(const ResourceMemory&) = delete;

    virtual TensorViewHandle view(uint32_t resource) const = 0;
    /// Of an image: of its packed copy.
    virtual vk::DescriptorBufferInfo buffer(uint32_t resource) const = 0;
    virtual vk::DescriptorImageInfo image(uint32_t resource) const = 0;
};

}  // namespace arm_runtime::vgf
