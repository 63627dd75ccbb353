// A segment as Vulkan objects: pipeline, descriptors and, for a graph, its session.
#pragma once

#include <optional>
#include <vector>

#include "device.hpp"
#include "program.hpp"
#include "storage.hpp"

namespace arm_runtime::vgf {

/// Descriptor sets, and the pool that they are from. They are given back before the pool is
/// destroyed: the emulation layer keeps pipelines and tensors alive that a set refers to until
/// then.
class DescriptorSets {
  public:
    DescriptorSets(Device& device, const std::vector<VkDescriptorPoolSize>& sizes,
                   const std::vector<VkDescriptorSetLayout>& layouts);
    ~DescriptorSets();
    DescriptorSets(const DescriptorSets&) = delete;
    DescriptorSets& operator=(const DescriptorSets&) = delete;

    const std::vector<VkDescriptorSet>& handles() const { return sets_; }

  private:
    Device& device_;
    Owned<VkDescriptorPool> pool_;
    std::vector<VkDescriptorSet> sets_;
};

class Pipeline {
  public:
    /// Compiles a segment. Throws Error, with the segment's name, if the driver refuses it.
    Pipeline(Device& device, const Program& program, uint32_t segment);

    /// What its graph needs while it runs; nothing for a shader.
    std::vector<Scratch> scratch() const;

    /// Points its descriptors at the program's resources, which have memory by now.
    void bind(const ResourceMemory& memory);

    /// What its push constants are in whatever is recorded from now on.
    void push(const uint8_t* bytes);

    void record(VkCommandBuffer commands) const;

  private:
    void make_layout();
    void make_graph();
    void make_shader();

    Device& device_;
    const Program& program_;
    const uint32_t index_;
    const Segment& segment_;
    std::vector<Owned<VkDescriptorSetLayout>> set_layouts_;
    Owned<VkPipelineLayout> layout_;
    Owned<VkShaderModule> module_;
    Owned<VkPipeline> pipeline_;
    Owned<GraphSessionHandle> session_;
    std::optional<DescriptorSets> sets_;
    std::vector<uint8_t> pushed_;
};

}  // namespace arm_runtime::vgf
