// What this runtime uses of VK_ARM_tensors, VK_ARM_data_graph and
// VK_ARM_data_graph_neural_accelerator_statistics, which Debian 12's vulkan_core.h lacks. Numbers
// and layouts are those of the Vulkan registry (vk.xml 1.4, spec version 1 of all extensions); the
// names are ours, so that newer headers do not clash.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace arm_runtime::vgf {

VK_DEFINE_NON_DISPATCHABLE_HANDLE(TensorHandle)
VK_DEFINE_NON_DISPATCHABLE_HANDLE(TensorViewHandle)
VK_DEFINE_NON_DISPATCHABLE_HANDLE(GraphSessionHandle)

constexpr const char* kTensorsExtension = "VK_ARM_tensors";
constexpr const char* kDataGraphExtension = "VK_ARM_data_graph";
constexpr const char* kStatisticsExtension = "VK_ARM_data_graph_neural_accelerator_statistics";

constexpr auto kDescriptorTensor = static_cast<VkDescriptorType>(1000460000);
constexpr auto kBindPointDataGraph = static_cast<VkPipelineBindPoint>(1000507000);
constexpr VkQueueFlags kQueueDataGraph = 0x400;
constexpr uint64_t kUsageShader = 0x2;
constexpr uint64_t kUsageDataGraph = 0x20;

constexpr auto kFormatBool = static_cast<VkFormat>(1000460000);
constexpr auto kFormatBFloat16 = static_cast<VkFormat>(1000460001);
constexpr auto kFormatFloat8E4M3 = static_cast<VkFormat>(1000460002);
constexpr auto kFormatFloat8E5M2 = static_cast<VkFormat>(1000460003);

/// The first two members of every structure. As a base class it lies where they would.
template <int TYPE>
struct Chained {
    VkStructureType sType = static_cast<VkStructureType>(TYPE);
    void* pNext = nullptr;
};

struct TensorDescription : Chained<1000460006> {
    uint32_t tiling = 1;  // linear
    VkFormat format = VK_FORMAT_UNDEFINED;
    uint32_t rank = 0;
    const int64_t* shape = nullptr;
    const int64_t* strides = nullptr;  // packed
    uint64_t usage = 0;
};

struct TensorCreateInfo : Chained<1000460000> {
    uint64_t flags = 0;
    const TensorDescription* description = nullptr;
    VkSharingMode sharing = VK_SHARING_MODE_EXCLUSIVE;
    uint32_t family_count = 0;
    const uint32_t* families = nullptr;
};

struct TensorViewCreateInfo : Chained<1000460001> {
    uint64_t flags = 0;
    TensorHandle tensor = VK_NULL_HANDLE;
    VkFormat format = VK_FORMAT_UNDEFINED;
};

struct BindTensorMemoryInfo : Chained<1000460002> {
    TensorHandle tensor = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
};

struct WriteTensorDescriptor : Chained<1000460003> {
    uint32_t count = 1;
    const TensorViewHandle* views = nullptr;
};

struct TensorProperties : Chained<1000460004> {
    uint32_t max_rank = 0;
    uint64_t max_elements = 0;
    uint64_t max_elements_per_dimension = 0;
    int64_t max_stride = 0;
    uint64_t max_bytes = 0;
    uint32_t rest[8] = {};  // limits of shaders and descriptors
};

struct TensorMemoryRequirementsInfo : Chained<1000460007> {
    TensorHandle tensor = VK_NULL_HANDLE;
};

struct TensorFeatures : Chained<1000460009> {
    VkBool32 non_packed = VK_FALSE;
    VkBool32 shader_access = VK_FALSE;
    VkBool32 array_dynamic_indexing = VK_FALSE;
    VkBool32 array_non_uniform_indexing = VK_FALSE;
    VkBool32 update_after_bind = VK_FALSE;
    VkBool32 tensors = VK_FALSE;
};

struct DataGraphFeatures : Chained<1000507006> {
    VkBool32 data_graph = VK_FALSE;
    VkBool32 update_after_bind = VK_FALSE;
    VkBool32 specialization_constants = VK_FALSE;
    VkBool32 descriptor_buffer = VK_FALSE;
    VkBool32 shader_module = VK_FALSE;
};

/// VK_EXT_shader_replicated_composites, whose instructions the model converter emits.
struct ReplicatedCompositesFeatures : Chained<1000564000> {
    VkBool32 replicated_composites = VK_FALSE;
};

struct GraphConstant : Chained<1000507003> {  // pNext: a TensorDescription
    uint32_t id = 0;
    const void* data = nullptr;
};

struct GraphResource : Chained<1000507002> {  // pNext: a TensorDescription
    uint32_t set = 0;
    uint32_t binding = 0;
    uint32_t element = 0;
};

struct GraphShaderModule : Chained<1000507007> {
    VkShaderModule module = VK_NULL_HANDLE;
    const char* entry_point = nullptr;
    const VkSpecializationInfo* specialization = nullptr;
    uint32_t constant_count = 0;
    const GraphConstant* constants = nullptr;
};

struct GraphPipelineCreateInfo : Chained<1000507000> {  // pNext: a GraphShaderModule
    uint64_t flags = 0;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    uint32_t resource_count = 0;
    const GraphResource* resources = nullptr;
};

struct GraphSessionCreateInfo : Chained<1000507001> {
    uint64_t flags = 0;
    VkPipeline pipeline = VK_NULL_HANDLE;
};

struct BindPointRequirementsInfo : Chained<1000507011> {
    GraphSessionHandle session = VK_NULL_HANDLE;
};

struct BindPointRequirement : Chained<1000507012> {
    uint32_t point = 0;
    uint32_t kind = 0;  // 0: memory
    uint32_t count = 0;
};

struct GraphSessionMemoryRequirementsInfo : Chained<1000507004> {
    GraphSessionHandle session = VK_NULL_HANDLE;
    uint32_t point = 0;
    uint32_t object = 0;
};

struct BindGraphSessionMemoryInfo : Chained<1000507005> {
    GraphSessionHandle session = VK_NULL_HANDLE;
    uint32_t point = 0;
    uint32_t object = 0;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
};

/// Where a graph's session leaves what the neural accelerator counts.
constexpr uint32_t kBindPointStatistics = 1000676000;
// Properties of a pipeline, which say how to read that.
constexpr uint32_t kDebugDatabase = 1000676000;
constexpr uint32_t kStatisticsInfo = 1000676001;

struct PipelineStatisticsCreateInfo : Chained<1000676000> {
    VkBool32 allow = VK_TRUE;
};

struct SessionStatisticsCreateInfo : Chained<1000676001> {
    uint32_t mode = 0;  // 0: none; 1 and 2: what the extension calls 0 and 1
};

struct StatisticsFeatures : Chained<1000676002> {
    VkBool32 statistics = VK_FALSE;
};

struct GraphPipelineInfo : Chained<1000507009> {
    VkPipeline pipeline = VK_NULL_HANDLE;
};

struct GraphPipelineProperty : Chained<1000507008> {
    uint32_t property = 0;
    VkBool32 is_text = VK_FALSE;
    size_t size = 0;
    void* data = nullptr;
};

// The layouts that a C compiler gives the registry's structures on a 64-bit machine.
static_assert(sizeof(void*) != 8 ||
              (sizeof(TensorDescription) == 56 && sizeof(TensorProperties) == 88 &&
               sizeof(GraphPipelineCreateInfo) == 48 && sizeof(GraphPipelineProperty) == 40 &&
               sizeof(SessionStatisticsCreateInfo) == 24 &&
               sizeof(BindGraphSessionMemoryInfo) == 48));

// Signatures, by the name of the entry point without "vk".
using CreateTensorARM = VkResult(VKAPI_PTR*)(VkDevice, const TensorCreateInfo*,
                                             const VkAllocationCallbacks*, TensorHandle*);
using DestroyTensorARM = void(VKAPI_PTR*)(VkDevice, TensorHandle, const VkAllocationCallbacks*);
using CreateTensorViewARM = VkResult(VKAPI_PTR*)(VkDevice, const TensorViewCreateInfo*,
                                                 const VkAllocationCallbacks*, TensorViewHandle*);
using DestroyTensorViewARM = void(VKAPI_PTR*)(VkDevice, TensorViewHandle,
                                              const VkAllocationCallbacks*);
using GetTensorMemoryRequirementsARM = void(VKAPI_PTR*)(VkDevice,
                                                        const TensorMemoryRequirementsInfo*,
                                                        VkMemoryRequirements2*);
using BindTensorMemoryARM = VkResult(VKAPI_PTR*)(VkDevice, uint32_t, const BindTensorMemoryInfo*);
using CreateDataGraphPipelinesARM = VkResult(VKAPI_PTR*)(VkDevice, VkDeferredOperationKHR,
                                                         VkPipelineCache, uint32_t,
                                                         const GraphPipelineCreateInfo*,
                                                         const VkAllocationCallbacks*, VkPipeline*);
using CreateDataGraphPipelineSessionARM = VkResult(VKAPI_PTR*)(VkDevice,
                                                               const GraphSessionCreateInfo*,
                                                               const VkAllocationCallbacks*,
                                                               GraphSessionHandle*);
using DestroyDataGraphPipelineSessionARM = void(VKAPI_PTR*)(VkDevice, GraphSessionHandle,
                                                            const VkAllocationCallbacks*);
using GetDataGraphPipelineSessionBindPointRequirementsARM = VkResult(VKAPI_PTR*)(
    VkDevice, const BindPointRequirementsInfo*, uint32_t*, BindPointRequirement*);
using GetDataGraphPipelineSessionMemoryRequirementsARM =
    void(VKAPI_PTR*)(VkDevice, const GraphSessionMemoryRequirementsInfo*, VkMemoryRequirements2*);
using BindDataGraphPipelineSessionMemoryARM =
    VkResult(VKAPI_PTR*)(VkDevice, uint32_t, const BindGraphSessionMemoryInfo*);
using GetDataGraphPipelinePropertiesARM = VkResult(VKAPI_PTR*)(VkDevice, const GraphPipelineInfo*,
                                                               uint32_t, GraphPipelineProperty*);
using CmdDispatchDataGraphARM = void(VKAPI_PTR*)(VkCommandBuffer, GraphSessionHandle, const void*);

}  // namespace arm_runtime::vgf
