// The tensors and buffers of a program, in device memory.
#pragma once

#include <vector>

#include "device.hpp"
#include "images.hpp"
#include "memory_plan.hpp"
#include "parsed_file.hpp"
#include "resource_memory.hpp"

namespace arm_runtime::vgf {

/// How Vulkan is told of a resource's tensor, which points into the resource.
TensorDescription describe(const Resource& resource, uint64_t usage);

/// The memory that a graph needs while it runs.
struct Scratch {
    GraphSessionHandle session;
    uint32_t point;
    uint32_t object;
    uint32_t segment;
    vk::MemoryRequirements needs;
};

class Storage : public ResourceMemory {
  public:
    /// Makes the objects, without memory.
    Storage(Device& device, const Program& program);

    /// Allocates memory for them and for the graphs' scratch, binds it, and uploads constants.
    void bind(const std::vector<Scratch>& scratch, const Uploads& uploads);

    /// Of a resource that is an input, an output or an uploaded constant: where the host sees it.
    uint8_t* mapped(uint32_t resource) const { return objects_[resource].mapped; }
    TensorViewHandle view(uint32_t resource) const override { return *objects_[resource].view; }
    vk::DescriptorBufferInfo buffer(uint32_t resource) const override {
        return {*objects_[resource].buffer, 0, VK_WHOLE_SIZE};
    }
    vk::DescriptorImageInfo image(uint32_t resource) const override {
        return images_.descriptor(resource);
    }
    Images& images() { return images_; }
    const MemoryUse& use() const { return use_; }

  private:
    struct Object {
        Owned<TensorHandle> tensor;
        Owned<TensorViewHandle> view;
        vk::raii::Buffer buffer{nullptr};
        vk::MemoryRequirements needs;
        uint64_t usage = 0;  ///< 0: no segment uses it
        uint32_t first = 0;  ///< segments
        uint32_t last = 0;
        uint8_t* mapped = nullptr;
    };

    void find_uses();
    void make_tensor(uint32_t index);
    void make_buffer(uint32_t index);
    /// Memory for the resources of some roles, which last as long as the session.
    uint64_t bind_mapped(std::initializer_list<Role> roles, vk::MemoryPropertyFlags preferred,
                         Memory& memory);
    void bind_work(const std::vector<Scratch>& scratch);
    void bind_object(uint32_t resource, vk::DeviceMemory memory, uint64_t offset);
    /// Resources of these roles that need memory, one list for each storage.
    std::vector<std::vector<uint32_t>> shared_by(std::initializer_list<Role> roles) const;

    const Device& device_;
    const Program& program_;
    // Before the objects: those go first.
    Memory inputs_;
    Memory outputs_;
    Memory work_;
    std::vector<Object> objects_;
    Images images_;
    MemoryUse use_{};
};

}  // namespace arm_runtime::vgf
