#include "device.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace arm_runtime::vgf {
namespace {

// Enabled where the device has them: the Arm extensions need the first three when native, the model
// converter's SPIR-V needs the last.
constexpr const char* kOptionalExtensions[] = {
    "VK_KHR_deferred_host_operations", "VK_KHR_maintenance5",
    "VK_ARM_data_graph_instruction_set_tosa", "VK_EXT_shader_replicated_composites"};

/// Every feature structure that concerns shaders, as one chain.
struct Features {
    VkPhysicalDeviceFeatures2 base{};
    VkPhysicalDeviceVulkan11Features v11{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceVulkan13Features v13{};
    TensorFeatures tensors;
    DataGraphFeatures graphs;
    ReplicatedCompositesFeatures composites;

    explicit Features(bool with_composites) {
        base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
        v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
        base.pNext = &v11;
        v11.pNext = &v12;
        v12.pNext = &v13;
        v13.pNext = &tensors;
        tensors.next = &graphs;
        if (with_composites) graphs.next = &composites;
    }
    ~Features() = default;
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;
};

std::unique_ptr<Device> open(const Options& options) {
    const std::string& wanted = options.device;
    EngineKind engine = options.engine;
    auto instance = std::make_unique<Instance>(engine == EngineKind::kLayer);
    std::string reason = "it was asked for";
    const Instance::Candidate* chosen = instance->choose(wanted, engine != EngineKind::kCompute);
    if (engine == EngineKind::kAny) {
        engine = chosen ? EngineKind::kNative : EngineKind::kCompute;
        reason = chosen ? "the device has VK_ARM_tensors and VK_ARM_data_graph"
                        : "no device has both VK_ARM_tensors and VK_ARM_data_graph";
        if (!chosen) chosen = instance->choose(wanted, false);
    }
    if (!chosen) {
        const char* const needs = engine == EngineKind::kCompute ? "a Vulkan 1.1 device"
                                  : engine == EngineKind::kLayer
                                      ? "a Vulkan 1.3 device"
                                      : "a device with VK_ARM_tensors and VK_ARM_data_graph";
        throw Error(std::string("the engine `") + name_of(engine) + "` needs " + needs +
                    (wanted.empty() ? "" : " that fits '" + wanted + "'") + "; this machine has " +
                    instance->list() +
                    (wanted.empty() ? "" : ": give a number of these, or a part of a name"));
    }
    return std::make_unique<Device>(std::move(instance), *chosen, engine, std::move(reason),
                                    options.cache_folder);
}

}  // namespace

Device& Device::get(const Options& options) {
    static std::mutex mutex;
    // Never destroyed: at exit, drivers may have gone before.
    static auto& devices = *new std::map<std::string, std::unique_ptr<Device>>;
    const std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Device>& device =
        devices[options.device + '\n' + options.cache_folder + '\n' + name_of(options.engine)];
    if (!device) device = open(options);
    return *device;
}

Device::Device(std::unique_ptr<Instance> instance, const Instance::Candidate& chosen,
               EngineKind engine, std::string reason, const std::string& cache_folder)
    : instance_(std::move(instance)),
      name_(chosen.properties.deviceName),
      engine_(engine),
      reason_(std::move(reason)),
      max_buffer_range_(chosen.properties.limits.maxStorageBufferRange),
      max_workgroup_(std::min(chosen.properties.limits.maxComputeWorkGroupInvocations,
                              chosen.properties.limits.maxComputeWorkGroupSize[0])),
      max_push_bytes_(chosen.properties.limits.maxPushConstantsSize),
      is_cpu_(chosen.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) {
    if (engine == EngineKind::kLayer) name_ += " (emulated)";
    const InstanceCalls& calls = instance_->calls();
    calls.GetPhysicalDeviceMemoryProperties(chosen.handle, &memory_);
    choose_queue_family(chosen.handle);
    if (timestamp_period_ != 0) timestamp_period_ = chosen.properties.limits.timestampPeriod;
    if (engine == EngineKind::kCompute) {
        create_for_compute(chosen);
    } else {
        VkPhysicalDeviceProperties2 properties{};
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        properties.pNext = &tensor_limits_;
        calls.GetPhysicalDeviceProperties2(chosen.handle, &properties);
        create(chosen);
    }
    calls_ = DeviceCalls(calls, handle(), engine != EngineKind::kCompute);
    calls_.GetDeviceQueue(handle(), queue_family_, 0, &queue_);
    std::filesystem::path file;
    if (!cache_folder.empty()) {
        const char* const kind = engine == EngineKind::kCompute ? "vgf-compute-" : "vgf-";
        file = std::filesystem::path(cache_folder) / (kind + cache_key(chosen.properties) + ".bin");
    }
    cache_ = std::make_unique<PipelineCache>(calls_, handle(), CacheFile(file));
}

void Device::choose_queue_family(VkPhysicalDevice physical) {
    uint32_t count = 0;
    instance_->calls().GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    instance_->calls().GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
        const bool shaders = (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
        const bool fits = engine_ == EngineKind::kCompute
                              ? shaders
                              : (families[i].queueFlags & kQueueDataGraph) != 0;
        if (!fits || (found && (runs_shaders_ || !shaders))) continue;
        found = true;
        queue_family_ = i;
        runs_shaders_ = shaders;
        timestamp_period_ = families[i].timestampValidBits ? 1 : 0;
    }
    if (!found)
        throw Error("no queue of " + name_ + " runs " +
                    (engine_ == EngineKind::kCompute ? "compute shaders" : "data graphs"));
}

void Device::create(const Instance::Candidate& chosen) {
    std::vector<const char*> extensions{kTensorsExtension, kDataGraphExtension};
    for (const char* const extension : kOptionalExtensions) {
        if (chosen.has(extension)) extensions.push_back(extension);
    }
    Features features(chosen.has("VK_EXT_shader_replicated_composites"));
    instance_->calls().GetPhysicalDeviceFeatures2(chosen.handle, &features.base);
    if (!features.tensors.tensors || !features.graphs.data_graph) {
        throw Error(name_ + " has the Arm extensions without their features");
    }
    features.base.features.robustBufferAccess = VK_FALSE;  // it costs time, and graphs need it not
    create(chosen, extensions, &features.base);
}

void Device::create_for_compute(const Instance::Candidate& chosen) {
    // Nothing beyond Vulkan 1.1 is required. Of what is more, our kernels have variants, and the
    // compute shaders of a VGF may use it.
    const uint32_t version = chosen.properties.apiVersion;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    VkPhysicalDeviceVulkan11Features v11{};
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    VkPhysicalDeviceVulkan12Features v12{};
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    VkPhysicalDeviceVulkan13Features v13{};
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot{};
    dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    std::vector<const char*> extensions;
    if (version >= VK_API_VERSION_1_2) {
        features.pNext = &v11;
        v11.pNext = &v12;
    }
    if (version >= VK_API_VERSION_1_3) {
        v12.pNext = &v13;
    } else if (chosen.has(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
        (version >= VK_API_VERSION_1_2 ? v12.pNext : features.pNext) = &dot;
    }
    instance_->calls().GetPhysicalDeviceFeatures2(chosen.handle, &features);
    has_dot_ = dot.shaderIntegerDotProduct == VK_TRUE || v13.shaderIntegerDotProduct == VK_TRUE;
    create(chosen, extensions, &features);
}

void Device::create(const Instance::Candidate& chosen, const std::vector<const char*>& extensions,
                    const void* features) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = queue_family_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    handle_ = make_device(instance_->calls(), chosen.handle, info);
}

Memory Device::allocate(uint64_t size, uint32_t types, VkMemoryPropertyFlags required,
                        VkMemoryPropertyFlags preferred) const {
    int best = -1;
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
        const int score = __builtin_popcount(flags & preferred);
        if ((types >> i & 1) && (flags & required) == required && score > best) {
            best = score;
            chosen = i;
        }
    }
    if (best < 0) throw Error(name_ + " has no memory of the kind that its tensors need");
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = size;
    info.memoryTypeIndex = chosen;
    Memory memory;
    memory.handle = make<VkDeviceMemory>(handle(), calls_.AllocateMemory, calls_.FreeMemory, info,
                                         "vkAllocateMemory");
    if (required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        void* mapped = nullptr;
        check(calls_.MapMemory(handle(), memory.handle, 0, VK_WHOLE_SIZE, 0, &mapped),
              "vkMapMemory");
        memory.mapped = static_cast<uint8_t*>(mapped);
    }
    return memory;
}

void Device::submit(VkCommandBuffer commands, VkFence fence) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    check(calls_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

}  // namespace arm_runtime::vgf
