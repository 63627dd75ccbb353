// Between the buffers and images of an application and a program's inputs and outputs: a dispatch
// for each.
#pragma once

#include <array>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "engine.hpp"
#include "port_kernels.hpp"

namespace arm_runtime::vgf {

class FramePorts {
  public:
    /// Of `infos`, an engine's inputs or outputs, while Device::loading is held. Those of `states`
    /// need not be bound.
    FramePorts(Device& device, Engine& engine, const std::vector<TensorInfo>& infos, bool outputs,
               uint32_t frames, const std::vector<StatePair>& states);

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
    /// `swapped`: as the engine's memory is. `start`: inputs that are states are copied, too, or
    /// zeros where they are not bound.
    void record(const vk::raii::CommandBuffer& commands, uint32_t frame, bool swapped,
                bool start) const;

  private:
    using Kind = PortKernels::Kind;
    using Push = std::array<int32_t, PortKernels::kPushInts>;
    /// Sets of descriptors, for each way in which the engine's memory lies, and what is recorded
    /// with them.
    struct Bound {
        std::vector<vk::raii::DescriptorSet> buffers;
        std::vector<vk::raii::DescriptorSet> images;
        const std::vector<vk::raii::DescriptorSet>* sets = nullptr;
        vk::Pipeline pipeline;  ///< none: nothing is bound
        vk::PipelineLayout layout;
        Push push{};
        uint32_t threads = 0;
    };

    Bound& at(uint32_t frame, size_t port) { return bound_[frame * ports_.size() + port]; }
    const Bound& at(uint32_t frame, size_t port) const {
        return bound_[frame * ports_.size() + port];
    }
    /// Points a port's sets at the engine's memory and at what is the application's.
    void write(const std::vector<vk::raii::DescriptorSet>& sets, size_t port,
               vk::DescriptorType type, const vk::DescriptorBufferInfo* buffer,
               const vk::DescriptorImageInfo* image) const;

    struct Port {
        std::vector<vk::DescriptorBufferInfo> memory;  ///< of the engine; or as it is swapped
        bool state = false;
        bool waits = false;  ///< one before it writes the same memory
    };

    Device& device_;
    const bool outputs_;
    std::vector<Port> ports_;
    vk::raii::DescriptorPool pool_{nullptr};
    std::vector<Bound> bound_;  ///< by frame and port
};

}  // namespace arm_runtime::vgf
