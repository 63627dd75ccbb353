// Between the buffers and images of an application and a program's inputs and outputs: a dispatch
// for each.
#pragma once

#include <map>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "engine.hpp"

namespace arm_runtime::vgf {

class FramePorts {
  public:
    /// Of `count` inputs or outputs of an engine.
    FramePorts(Device& device, const Engine& engine, size_t count, bool outputs, uint32_t frames);

    /// The tensor of a port that is bound; `text` names it in errors.
    struct Tensor {
        DataType type;
        const std::vector<int64_t>& shape;
        const std::string& text;
    };

    /// Throws Error: it does not fit.
    void bind(uint32_t frame, size_t port, const Tensor& tensor, VkBuffer buffer,
              VkDeviceSize offset);
    void bind(uint32_t frame, size_t port, const Tensor& tensor, const arm_vgf::Image& image);
    void unbind();

    /// The first port that a frame has not bound, or as many as there are.
    size_t first_unbound(uint32_t frame) const;
    void record(const vk::raii::CommandBuffer& commands, uint32_t frame) const;

  private:
    using Push = std::array<int32_t, 8>;
    /// A set of descriptors and what is recorded with it.
    struct Bound {
        vk::raii::DescriptorSet buffers{nullptr};
        vk::raii::DescriptorSet image{nullptr};
        vk::DescriptorSet set;
        vk::Pipeline pipeline;  ///< none: nothing is bound
        vk::PipelineLayout layout;
        Push push{};
        uint32_t threads = 0;
    };
    /// Pipelines of one layout, by the format of storage images.
    struct Kind {
        vk::raii::DescriptorSetLayout set_layout{nullptr};
        vk::raii::PipelineLayout layout{nullptr};
        std::map<uint32_t, vk::raii::Pipeline> pipelines;
    };

    Kind make_kind(vk::DescriptorType second) const;
    /// Compiled when it is first asked for.
    vk::Pipeline pipeline(Kind& kind, const char* kernel, uint32_t image_format);
    vk::Pipeline compile(Kind& kind, const char* kernel, uint32_t image_format);
    Bound& at(uint32_t frame, size_t port) { return bound_[frame * count_ + port]; }
    vk::DescriptorBufferInfo own(size_t port) const;
    void write(vk::DescriptorSet set, uint32_t binding, vk::DescriptorType type,
               const vk::DescriptorBufferInfo* buffer, const vk::DescriptorImageInfo* image) const;

    Device& device_;
    const Engine& engine_;
    const size_t count_;
    const bool outputs_;
    Kind buffers_;
    Kind images_;
    vk::raii::DescriptorPool pool_{nullptr};
    std::vector<Bound> bound_;  ///< by frame and port
};

}  // namespace arm_runtime::vgf
