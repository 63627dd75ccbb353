// A segment as Vulkan objects: pipeline, descriptors and, for a graph, its session.
#pragma once

#include <vector>

#include "device.hpp"
#include "program.hpp"
#include "storage.hpp"

namespace arm_runtime::vgf {

class Pipeline {
  public:
    /// Compiles a segment. Throws Error, with the segment's name, if the driver refuses it.
    Pipeline(Device& device, const Program& program, uint32_t segment);

    /// What its graph needs while it runs; nothing for a shader.
    std::vector<Scratch> scratch() const;

    /// Points its descriptors at the program's resources, which have memory by now.
    void bind(const Storage& storage);

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
    Owned<VkDescriptorPool> pool_;
    std::vector<VkDescriptorSet> sets_;
};

}  // namespace arm_runtime::vgf
