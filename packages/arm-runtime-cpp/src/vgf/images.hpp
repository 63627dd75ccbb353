// The images of a program. To the host, and to tensors and buffers that share memory with it, an
// image is a buffer with its texels row by row, without gaps: its packed copy. What one of the two
// holds is copied to the other before someone needs it there.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "device.hpp"
#include "program.hpp"
#include "resource_memory.hpp"

namespace arm_runtime::vgf {

/// Whether anyone needs the packed copy of a resource that is an image.
bool has_packed_copy(const Program& program, uint32_t resource);

class Images {
  public:
    /// Makes the images that segments bind, without memory. Throws Error: the device has none such.
    Images(Device& device, const Program& program);
    /// Gives them memory, and views. `packed.buffer` has the packed copies when something is
    /// recorded.
    void allocate(const ResourceMemory& packed);

    vk::DescriptorImageInfo descriptor(uint32_t resource) const;
    /// Of memory that they take.
    uint64_t bytes() const { return bytes_; }

    /// A recording begins: inputs are in packed copies, and nothing else is anywhere.
    void begin(const vk::raii::CommandBuffer& commands);
    /// Records the copies that a segment needs before it, between barriers.
    void prepare(const vk::raii::CommandBuffer& commands, const Segment& segment);
    /// Records the copies that the host needs after the last segment.
    void finish(const vk::raii::CommandBuffer& commands);

  private:
    struct Object {
        Memory memory;  // before the image, which goes first
        vk::raii::Image image{nullptr};
        vk::raii::ImageView view{nullptr};
        vk::raii::Sampler sampler{nullptr};
    };
    /// From an image to its packed copy, or the other way.
    struct Copy {
        uint32_t resource;
        bool pack;
    };

    void make(uint32_t index);
    void check(uint32_t index, vk::ImageUsageFlags usage) const;
    void make_sampler(Object& object, const Sampler& settings) const;
    /// Notes the copies that make `place` hold what its memory group holds.
    void fetch(uint32_t storage, uint32_t place, std::vector<Copy>& copies);
    /// Of the images that are copied in one direction, between all that came and all that comes.
    void change_layouts(const vk::raii::CommandBuffer& commands, const std::vector<Copy>& copies,
                        bool pack, vk::ImageLayout from, vk::ImageLayout to) const;
    void record(const vk::raii::CommandBuffer& commands, const std::vector<Copy>& copies) const;

    Device& device_;
    const Program& program_;
    const ResourceMemory* packed_ = nullptr;
    std::map<uint32_t, Object> objects_;  ///< by resource
    std::set<uint32_t> storages_;         ///< memory groups with an image
    /// Who holds the contents of a memory group: images, by resource, or kPacked.
    std::map<uint32_t, std::set<uint32_t>> holders_;
    std::vector<vk::ImageMemoryBarrier> layouts_;  ///< that a recording begins with
    uint64_t bytes_ = 0;
};

}  // namespace arm_runtime::vgf
