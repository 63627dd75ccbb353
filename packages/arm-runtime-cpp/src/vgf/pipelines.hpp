// A segment as Vulkan objects: pipeline, descriptors and, for a graph, its session.
#pragma once

#include <vector>

#include "device.hpp"
#include "parsed_file.hpp"
#include "storage.hpp"

namespace arm_runtime::vgf {

class Pipeline {
  public:
    /// Compiles a segment of `program`, which must outlive it; the code need not. Throws Error,
    /// with the segment's name, if the driver refuses it.
    Pipeline(Device& device, const Program& program, uint32_t segment, const SegmentCode& code,
             Counting counting = Counting::kOff);

    /// What its graph needs while it runs; nothing for a shader.
    std::vector<Scratch> scratch() const;

    /// Properties of its graph's pipeline that say how to read what the accelerator counts.
    void describe_statistics(std::vector<Statistic>& statistics) const;

    /// Points descriptors at the program's resources, which have memory by now: others at each
    /// call.
    void bind(const ResourceMemory& memory);

    /// What its push constants are in whatever is recorded from now on.
    void push(const uint8_t* bytes);

    /// `which`: of the calls of `bind`.
    void record(const vk::raii::CommandBuffer& commands, size_t which = 0) const;

  private:
    void make_layout();
    void make_graph(const GraphSegment& graph, const SegmentCode& code, Counting counting);
    void make_shader(const ShaderSegment& shader, const SegmentCode& code);

    Device& device_;
    const Program& program_;
    const uint32_t index_;
    const Segment& segment_;
    std::vector<vk::raii::DescriptorSetLayout> set_layouts_;
    vk::raii::PipelineLayout layout_{nullptr};
    vk::raii::ShaderModule module_{nullptr};
    vk::raii::Pipeline pipeline_{nullptr};
    Owned<GraphSessionHandle> session_;
    struct Bound {
        vk::raii::DescriptorPool pool{nullptr};
        // Given back one by one, not with the pool: the emulation layer keeps pipelines and tensors
        // alive that a set refers to until then.
        std::vector<vk::raii::DescriptorSet> sets;
        std::vector<vk::DescriptorSet> handles;
    };
    std::vector<Bound> bound_;
    std::vector<uint8_t> pushed_;
};

}  // namespace arm_runtime::vgf
