// The entry points of a device that this runtime calls.
#pragma once

#include <utility>

#include "vulkan_api.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {

#define ARM_VGF_DEVICE_CALLS(X)    \
    X(AllocateCommandBuffers)      \
    X(AllocateDescriptorSets)      \
    X(AllocateMemory)              \
    X(BeginCommandBuffer)          \
    X(BindBufferMemory)            \
    X(CmdBindDescriptorSets)       \
    X(CmdBindPipeline)             \
    X(CmdCopyBuffer)               \
    X(CmdDispatch)                 \
    X(CmdPipelineBarrier)          \
    X(CmdPushConstants)            \
    X(CmdResetQueryPool)           \
    X(CmdWriteTimestamp)           \
    X(CreateBuffer)                \
    X(CreateCommandPool)           \
    X(CreateComputePipelines)      \
    X(CreateDescriptorPool)        \
    X(CreateDescriptorSetLayout)   \
    X(CreateFence)                 \
    X(CreatePipelineCache)         \
    X(CreatePipelineLayout)        \
    X(CreateQueryPool)             \
    X(CreateShaderModule)          \
    X(DestroyBuffer)               \
    X(DestroyCommandPool)          \
    X(DestroyDescriptorPool)       \
    X(DestroyDescriptorSetLayout)  \
    X(DestroyFence)                \
    X(DestroyPipeline)             \
    X(DestroyPipelineCache)        \
    X(DestroyPipelineLayout)       \
    X(DestroyQueryPool)            \
    X(DestroyShaderModule)         \
    X(EndCommandBuffer)            \
    X(FreeDescriptorSets)          \
    X(FreeMemory)                  \
    X(GetBufferMemoryRequirements) \
    X(GetDeviceQueue)              \
    X(GetPipelineCacheData)        \
    X(GetQueryPoolResults)         \
    X(MapMemory)                   \
    X(QueueSubmit)                 \
    X(ResetFences)                 \
    X(UpdateDescriptorSets)        \
    X(WaitForFences)

// Of Vulkan 1.3 and of the Arm extensions: only the native engine needs them.
#define ARM_VGF_GRAPH_CALLS(X)                             \
    X(CmdPipelineBarrier2)                                 \
    X(CmdWriteTimestamp2)                                  \
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

struct DeviceCalls {
    DeviceCalls() = default;
    /// `graphs`: those of ARM_VGF_GRAPH_CALLS too.
    DeviceCalls(const vk::raii::Device& device, bool graphs);
#define X(name) PFN_vk##name name = nullptr;
    ARM_VGF_DEVICE_CALLS(X)
#undef X
#define X(name) vgf::name name = nullptr;
    ARM_VGF_GRAPH_CALLS(X)
#undef X
};

/// Throws Error with the call's name and Vulkan's word for the result, unless it is VK_SUCCESS.
void check(VkResult result, const char* call);

/// A Vulkan object of a device, destroyed with its owner.
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
    // NOLINTNEXTLINE(cppcoreguidelines-explicit-constructor): it stands for its handle in calls
    operator Handle() const { return handle_; }
    const Handle* address() const { return &handle_; }

  private:
    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_{};
    Destroy destroy_ = nullptr;
};

/// Creates an object; `call` names the call in the error.
template <typename Handle, typename Info>
Owned<Handle> make(VkDevice device,
                   VkResult(VKAPI_PTR* create)(VkDevice, const Info*, const VkAllocationCallbacks*,
                                               Handle*),
                   typename Owned<Handle>::Destroy destroy, const Info& info, const char* call) {
    Handle handle{};
    check(create(device, &info, nullptr, &handle), call);
    return Owned<Handle>(device, handle, destroy);
}

}  // namespace arm_runtime::vgf
