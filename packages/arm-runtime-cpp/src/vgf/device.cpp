#include "device.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "matrix_units.hpp"
#include "port_kernels.hpp"

namespace arm_runtime::vgf {
namespace {

// Enabled where the device has them: the Arm extensions need the first three when native, the model
// converter's SPIR-V needs the last.
constexpr const char* kOptionalExtensions[] = {
    "VK_KHR_deferred_host_operations", "VK_KHR_maintenance5",
    "VK_ARM_data_graph_instruction_set_tosa", "VK_EXT_shader_replicated_composites"};

/// Features of the device's version of Vulkan that concern shaders, and others, as one chain.
struct Features {
    vk::PhysicalDeviceFeatures2 base;
    vk::PhysicalDeviceVulkan11Features v11;
    vk::PhysicalDeviceVulkan12Features v12;
    vk::PhysicalDeviceVulkan13Features v13;

    explicit Features(uint32_t version) {
        if (version >= VK_API_VERSION_1_2) {
            add(v11);
            add(v12);
        }
        if (version >= VK_API_VERSION_1_3) add(v13);
    }

    /// Appends a structure, by the address of its `pNext`.
    template <typename Structure>
    void add(Structure& structure) {
        *last_ = &structure;
        last_ = &structure.pNext;
    }

    /// Fills the structures with what the device has.
    void ask(const vk::raii::PhysicalDevice& device) {
        (*device).getFeatures2(&base, *device.getDispatcher());
    }

  private:
    void** last_ = &base.pNext;
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

/// Of an application, with what it enabled.
std::unique_ptr<Instance> instance_of(const arm_vgf::Adopted& adopted) {
    const auto require = [](bool is_set, const char* member) {
        if (!is_set) throw Error(std::string("the adopted device's `") + member + "` is null");
    };
    require(adopted.instance != VK_NULL_HANDLE, "instance");
    require(adopted.physical != VK_NULL_HANDLE, "physical");
    require(adopted.device != VK_NULL_HANDLE, "device");
    require(adopted.queue != VK_NULL_HANDLE, "queue");
    require(adopted.get_proc_addr != nullptr, "get_proc_addr");
    require(adopted.enabled != nullptr, "enabled");
    if (adopted.api_version == 0) throw Error(kNoVersion);
    auto instance = std::make_unique<Instance>(adopted.get_proc_addr, adopted.instance,
                                               adopted.physical, adopted.api_version);
    const VkDeviceCreateInfo& enabled = *adopted.enabled;
    const char* const* const names = enabled.ppEnabledExtensionNames;
    instance->only().extensions.assign(names, names + enabled.enabledExtensionCount);
    return instance;
}

}  // namespace

Device& Device::get(const Options& options) {
    static std::atomic<pid_t> process{0};
    pid_t first = 0;
    if (!process.compare_exchange_strong(first, getpid()) && first != getpid()) {
        throw Error(kForked);
    }
    static std::mutex mutex;
    // Never destroyed: at exit, drivers may have gone before.
    static auto& devices = *new std::map<std::string, std::unique_ptr<Device>>;
    const std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Device>& device =
        devices[options.device + '\n' + options.cache_folder + '\n' + name_of(options.engine)];
    // Sessions on a lost one may still be there: it stays, as at exit.
    static auto& lost = *new std::vector<std::unique_ptr<Device>>;
    if (device && device->lost_) lost.push_back(std::exchange(device, nullptr));
    if (!device) device = with_errors([&] { return open(options); });
    return *device;
}

Device::Device(const Instance::Candidate& chosen, EngineKind engine, std::string reason)
    : name_(chosen.properties.deviceName.data()),
      engine_(engine),
      reason_(std::move(reason)),
      physical_(chosen.handle),
      limits_(chosen.properties.limits),
      max_buffer_range_(chosen.properties.limits.maxStorageBufferRange),
      max_workgroup_(std::min(chosen.properties.limits.maxComputeWorkGroupInvocations,
                              chosen.properties.limits.maxComputeWorkGroupSize[0])),
      memory_(chosen.handle.getMemoryProperties()),
      type_(chosen.properties.deviceType),
      vendor_(chosen.properties.vendorID),
      driver_(std::to_string(chosen.properties.driverVersion)) {}

Device::Device(std::unique_ptr<Instance> instance, const Instance::Candidate& chosen,
               EngineKind engine, std::string reason, const std::string& cache_folder)
    : Device(chosen, engine, std::move(reason)) {
    instance_ = std::move(instance);
    if (engine == EngineKind::kLayer) name_ += " (emulated)";
    choose_queue_family(chosen.handle);
    engine == EngineKind::kCompute ? create_for_compute(chosen) : create_for_graphs(chosen);
    if (engine != EngineKind::kCompute) arm_ = ArmCalls(device_);
    queue_ = {device_, queue_family_, 0};
    open_caches(chosen, cache_folder);
}

Device::Device(const arm_vgf::Adopted& adopted) : Device(adopted, instance_of(adopted)) {}

Device::Device(const arm_vgf::Adopted& adopted, std::unique_ptr<Instance> instance)
    : Device(instance->only(), EngineKind::kCompute, "the application's device") {
    instance_ = std::move(instance);
    const Instance::Candidate& chosen = instance_->only();
    const auto families = chosen.handle.getQueueFamilyProperties();
    const bool apart = adopted.loading_queue != VK_NULL_HANDLE;
    queue_family_ = apart ? adopted.loading_family : adopted.queue_family;
    families_ = {adopted.queue_family};
    if (queue_family_ != families_[0]) families_.push_back(queue_family_);
    for (const uint32_t family : families_) {
        if (family < families.size() && families[family].queueFlags & vk::QueueFlagBits::eCompute) {
            continue;
        }
        throw Error("queue family " + std::to_string(family) + " of " + name_ +
                    " runs no compute shaders: arm_vgf::requirements says which do");
    }
    runs_shaders_ = true;
    const bool timed = families[queue_family_].timestampValidBits != 0;
    timestamp_period_ = timed ? chosen.properties.limits.timestampPeriod : 0;
    device_ = {chosen.handle, adopted.device};
    keep(device_);
    use(FeatureSet(adopted.enabled->pNext, adopted.enabled->pEnabledFeatures), chosen);
    queue_ = {device_, apart ? adopted.loading_queue : adopted.queue};
    allocator_ = adopted.allocator;
    if ((allocator_.allocate == nullptr) != (allocator_.free == nullptr)) {
        throw Error("an allocator needs both of its functions");
    }
    open_caches(chosen, adopted.cache_folder);
    ports_ = std::make_unique<PortKernels>(*this);
    names_ = DebugNames(instance_->handle(), device_);
}

Device::~Device() = default;

void Device::open_caches(const Instance::Candidate& chosen, const std::string& cache_folder) {
    std::filesystem::path file;
    if (!cache_folder.empty()) {
        const char* const kind = engine_ == EngineKind::kCompute ? "vgf-compute-" : "vgf-";
        file = std::filesystem::path(cache_folder) / (kind + cache_key(chosen.properties) + ".bin");
    }
    cache_ = std::make_unique<PipelineCache>(device_, CacheFile(file));
    facts_ = std::make_unique<KernelFacts>(
        CacheFile(file.empty() || engine_ != EngineKind::kCompute ? "" : file.string() + ".facts"));
}

void Device::choose_queue_family(const vk::raii::PhysicalDevice& physical) {
    const auto families = physical.getQueueFamilyProperties();
    const vk::QueueFlags graphs{kQueueDataGraph};
    bool found = false;
    for (uint32_t i = 0; i < families.size(); ++i) {
        const vk::QueueFlags flags = families[i].queueFlags;
        const bool shaders = static_cast<bool>(flags & vk::QueueFlagBits::eCompute);
        const bool fits =
            engine_ == EngineKind::kCompute ? shaders : static_cast<bool>(flags & graphs);
        if (!fits || (found && (runs_shaders_ || !shaders))) continue;
        found = true;
        queue_family_ = i;
        runs_shaders_ = shaders;
        timestamp_period_ = families[i].timestampValidBits ? limits_.timestampPeriod : 0;
    }
    if (!found)
        throw Error("no queue of " + name_ + " runs " +
                    (engine_ == EngineKind::kCompute ? "compute shaders" : "data graphs"));
}

void Device::create_for_graphs(const Instance::Candidate& chosen) {
    vk::PhysicalDeviceProperties2 properties;
    properties.pNext = &tensor_limits_;
    (*chosen.handle).getProperties2(&properties, *chosen.handle.getDispatcher());
    std::vector<const char*> extensions{kTensorsExtension, kDataGraphExtension};
    for (const char* const extension : kOptionalExtensions) {
        if (chosen.has(extension)) extensions.push_back(extension);
    }
    Features features(chosen.properties.apiVersion);
    TensorFeatures tensors;
    features.add(tensors);
    DataGraphFeatures graphs;
    features.add(graphs);
    ReplicatedCompositesFeatures composites;
    if (chosen.has("VK_EXT_shader_replicated_composites")) features.add(composites);
    StatisticsFeatures statistics;
    if (chosen.has(kStatisticsExtension)) {
        extensions.push_back(kStatisticsExtension);
        features.add(statistics);
    }
    features.ask(chosen.handle);
    has_statistics_ = statistics.statistics == VK_TRUE;
    if (!tensors.tensors || !graphs.data_graph) {
        throw Error(name_ + " has the Arm extensions without their features");
    }
    features_ = FeatureSet(&features.base);
    create(chosen, extensions, features.base);
}

void Device::create_for_compute(const Instance::Candidate& chosen) {
    // Nothing beyond Vulkan 1.1 is required. Of what is more, our kernels have variants, and the
    // compute shaders of a VGF may use it.
    const uint32_t version = chosen.properties.apiVersion;
    std::vector<const char*> extensions;
    Features features(version);
    vk::PhysicalDeviceShaderIntegerDotProductFeatures dot;
    const char* const extension = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    if (version < VK_API_VERSION_1_3 && chosen.has(extension)) {
        extensions.push_back(extension);
        features.add(dot);
    }
    MatrixFeatures matrices;
    if (version >= VK_API_VERSION_1_3 && chosen.has(kMatrixExtension)) {
        extensions.push_back(kMatrixExtension);
        features.add(matrices);
    }
    features.ask(chosen.handle);
    use(FeatureSet(&features.base), chosen);
    create(chosen, extensions, features.base);
}

void Device::use(FeatureSet features, const Instance::Candidate& chosen) {
    features_ = std::move(features);
    const uint32_t version = chosen.properties.apiVersion;
    const auto used = used_features(version, chosen.extensions, features_);
    const auto has = [&](const char* name) {
        return std::any_of(used.begin(), used.end(), [&](const arm_vgf::Feature& feature) {
            return std::strcmp(feature.name, name) == 0;
        });
    };
    has_dot_ = has("shaderIntegerDotProduct");
    const bool matrices = has("cooperativeMatrix") && has("vulkanMemoryModel") &&
                          has("shaderInt8") && has("shaderFloat16") && has("computeFullSubgroups");
    if (matrices) matrix_units_ = instance_->matrix_units(chosen);
}

void Device::create(const Instance::Candidate& chosen, const std::vector<const char*>& extensions,
                    const vk::PhysicalDeviceFeatures2& features) {
    const float priority = 1;
    const auto queue =
        vk::DeviceQueueCreateInfo().setQueueFamilyIndex(queue_family_).setQueuePriorities(priority);
    device_ = {chosen.handle, vk::DeviceCreateInfo()
                                  .setPNext(&features)
                                  .setQueueCreateInfos(queue)
                                  .setPEnabledExtensionNames(extensions)};
}

std::optional<vk::ImageFormatProperties> Device::image_limits(vk::Format format,
                                                              vk::ImageUsageFlags usage) const {
    try {
        return physical_.getImageFormatProperties(format, vk::ImageType::e2D,
                                                  vk::ImageTiling::eOptimal, usage, {});
    } catch (const vk::FormatNotSupportedError&) {
        return std::nullopt;
    }
}

bool Device::filters(vk::Format format) const {
    return static_cast<bool>(physical_.getFormatProperties(format).optimalTilingFeatures &
                             vk::FormatFeatureFlagBits::eSampledImageFilterLinear);
}

vk::MemoryPropertyFlags Device::direct_memory() const {
    using Kind = vk::MemoryPropertyFlagBits;
    constexpr auto kDirect = Kind::eDeviceLocal | Kind::eHostVisible | Kind::eHostCoherent;
    uint64_t largest = 0;
    uint64_t direct = 0;
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
        const vk::MemoryType& type = memory_.memoryTypes[i];
        const uint64_t bytes = memory_.memoryHeaps[type.heapIndex].size;
        if (type.propertyFlags & Kind::eDeviceLocal) largest = std::max(largest, bytes);
        if ((type.propertyFlags & kDirect) == kDirect) direct = std::max(direct, bytes);
    }
    // A small one is a window into the device's memory, which others need.
    return direct != 0 && direct == largest ? kDirect : vk::MemoryPropertyFlags();
}

Memory Device::allocate(const vk::MemoryRequirements& needs, vk::MemoryPropertyFlags required,
                        vk::MemoryPropertyFlags preferred) const {
    Memory memory;
    if (allocator_.allocate != nullptr) {
        const VkMemoryRequirements& wanted = needs;
        arm_vgf::Allocation made;
        check(allocator_.allocate(allocator_.user, &wanted,
                                  static_cast<VkMemoryPropertyFlags>(required),
                                  static_cast<VkMemoryPropertyFlags>(preferred), &made),
              "the application's allocator");
        memory.memory = made.memory;
        memory.offset = made.offset;
        memory.mapped = static_cast<uint8_t*>(made.mapped);
        memory.lent = {new arm_vgf::Allocation(made),
                       [allocator = allocator_](const arm_vgf::Allocation* lent) {
                           allocator.free(allocator.user, lent);
                           delete lent;
                       }};
        const bool of_host = static_cast<bool>(required & vk::MemoryPropertyFlagBits::eHostVisible);
        if (made.memory == VK_NULL_HANDLE || (of_host && made.mapped == nullptr)) {
            throw Error(std::string("the application's allocator returned VK_SUCCESS and no ") +
                        (made.memory == VK_NULL_HANDLE
                             ? "memory"
                             : "`mapped`, which HOST_VISIBLE memory must have"));
        }
        return memory;
    }
    int best = -1;
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
        const vk::MemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
        const auto wanted = static_cast<VkMemoryPropertyFlags>(flags & preferred);
        const int score = __builtin_popcount(wanted);
        if ((needs.memoryTypeBits >> i & 1) && (flags & required) == required && score > best) {
            best = score;
            chosen = i;
        }
    }
    if (best < 0) throw Error(name_ + " has no memory of the kind that its tensors need");
    memory.handle = {
        device_, vk::MemoryAllocateInfo().setAllocationSize(needs.size).setMemoryTypeIndex(chosen)};
    memory.memory = *memory.handle;
    if (required & vk::MemoryPropertyFlagBits::eHostVisible) {
        memory.mapped = static_cast<uint8_t*>(memory.handle.mapMemory(0, VK_WHOLE_SIZE));
    }
    return memory;
}

void Device::submit(vk::CommandBuffer commands, vk::Fence fence) {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    queue_.submit(vk::SubmitInfo().setCommandBuffers(commands), fence);
}

}  // namespace arm_runtime::vgf
