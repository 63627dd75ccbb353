// The functions of VK_ARM_tensors and VK_ARM_data_graph, and owners of what they make.
#pragma once

#include <utility>

#include "vulkan_api.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {

#define ARM_VGF_ARM_CALLS(X)                               \
    X(BindDataGraphPipelineSessionMemoryARM)               \
    X(BindTensorMemoryARM)                                 \
    X(CmdDispatchDataGraphARM)                             \
    X(CreateDataGraphPipelineSessionARM)                   \
    X(CreateDataGraphPipelinesARM)                         \
    X(CreateTensorARM)                                     \
    X(CreateTensorViewARM)                                 \
    X(DestroyDataGraphPipelineSessionARM)                  \
    X(DestroyTensorARM)                                    \
    X(DestroyTensorViewARM)                                \
    X(GetDataGraphPipelineSessionBindPointRequirementsARM) \
    X(GetDataGraphPipelineSessionMemoryRequirementsARM)    \
    X(GetTensorMemoryRequirementsARM)

struct ArmCalls {
    ArmCalls() = default;
    /// Throws Error: the driver lacks one of them.
    explicit ArmCalls(const vk::raii::Device& device);
#define X(name) vgf::name name = nullptr;
    ARM_VGF_ARM_CALLS(X)
#undef X
};

/// Throws what vulkan_raii.hpp does, unless it is VK_SUCCESS.
void check(VkResult result, const char* call);

/// An object of a device, destroyed with its owner.
template <typename Handle>
class Owned {
  public:
    using Destroy = void(VKAPI_PTR*)(VkDevice, Handle, const VkAllocationCallbacks*);

    Owned() = default;
    Owned(VkDevice device, Handle handle, Destroy destroy)
        : device_(device), handle_(handle), destroy_(destroy) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Owned(Owned&& other) noexcept { *this = std::move(other); }
    Owned& operator=(Owned&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        std::swap(destroy_, other.destroy_);
        return *this;
    }
    ~Owned() {
        if (destroy_) destroy_(device_, handle_, nullptr);
    }
    Handle operator*() const { return handle_; }

  private:
    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_{};
    Destroy destroy_ = nullptr;
};

/// Creates an object; `call` names the call in the error.
template <typename Handle, typename Info>
Owned<Handle> make(const vk::raii::Device& device,
                   VkResult(VKAPI_PTR* create)(VkDevice, const Info*, const VkAllocationCallbacks*,
                                               Handle*),
                   typename Owned<Handle>::Destroy destroy, const Info& info, const char* call) {
    Handle handle{};
    check(create(*device, &info, nullptr, &handle), call);
    return Owned<Handle>(*device, handle, destroy);
}

}  // namespace arm_runtime::vgf
