// What all kernels of a program share: where they find the buffers, and their push constants.
#pragma once

#include <array>

#include "device_buffer.hpp"
#include "plan/plan.hpp"

namespace arm_runtime::vgf {

constexpr size_t kBuffers = 4;

class KernelLayout {
  public:
    /// `buffers` are bound in their order. `swapped`: there is a second set of descriptors, in
    /// which those of inputs and outputs have changed places.
    KernelLayout(Device& device, const std::array<DeviceBuffer, kBuffers>& buffers, bool swapped);

    /// The pipeline of a dispatch, whose `spirv` is there.
    vk::raii::Pipeline compile(const Dispatch& dispatch) const;

    /// Whatever is dispatched from now on finds the buffers; `set`: 1 if they are swapped.
    void bind(const vk::raii::CommandBuffer& commands, size_t set) const;
    /// Runs the pipeline that is bound.
    void dispatch(const vk::raii::CommandBuffer& commands, const Dispatch& dispatch) const;

  private:
    Device& device_;
    vk::raii::DescriptorSetLayout set_layout_{nullptr};
    vk::raii::PipelineLayout layout_{nullptr};
    vk::raii::DescriptorPool pool_{nullptr};
    std::vector<vk::raii::DescriptorSet> sets_;
};

}  // namespace arm_runtime::vgf
