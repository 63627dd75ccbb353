// The Vulkan device that sessions share.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arm_calls.hpp"
#include "arm_vgf/vgf.hpp"
#include "debug_names.hpp"
#include "enabled_features.hpp"
#include "instance.hpp"
#include "kernel_facts.hpp"
#include "pipeline_cache.hpp"

namespace arm_runtime::vgf {

class PortKernels;

/// Of what a process is asked that has Vulkan from before a fork.
constexpr const char* kForked =
    "this process was forked from one that had opened a Vulkan device, and Vulkan does not outlive "
    "a fork: open the first VGF after the fork, or start processes with multiprocessing's 'spawn'";

/// Memory that a session allocated, or that an application's allocator did.
struct Memory {
    vk::raii::DeviceMemory handle{nullptr};           ///< if it is ours
    std::shared_ptr<const arm_vgf::Allocation> lent;  ///< goes back with the last copy
    vk::DeviceMemory memory;
    uint64_t offset = 0;
    uint8_t* mapped = nullptr;  ///< if it is of the host
};

class Device {
  public:
    /// The device that `options` asks for; one per choice and process, and for the process's life:
    /// to make one takes longer than to load most programs.
    ///
    /// Throws Error, with what to install or which devices there are.
    static Device& get(const Options& options);

    /// Whether this process was forked from the one that opened the device: no call of Vulkan ends
    /// in it, and a mutex may be locked by a thread that it does not have.
    bool is_forked() const { return getpid() != process_; }

    /// Does `work`, of which a call of Vulkan may fail. A device that is lost is opened anew by the
    /// next `get`.
    template <typename Work>
    decltype(auto) guard(Work&& work) {
        try {
            return with_errors(std::forward<Work>(work));
        } catch (const Error& error) {
            if (error.is_device_lost()) lost_ = true;
            throw;
        }
    }

    /// Makes a device. Throws Error.
    Device(std::unique_ptr<Instance> instance, const Instance::Candidate& chosen, EngineKind engine,
           std::string reason, const std::string& cache_folder);
    /// An application's, for the engine `compute`, with what is enabled. Throws Error.
    explicit Device(const arm_vgf::Adopted& adopted);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const vk::raii::Device& vulkan() const { return device_; }
    /// Only where the engine is not `compute`.
    const ArmCalls& arm() const { return arm_; }
    const std::string& name() const { return name_; }
    EngineKind engine() const { return engine_; }
    /// Why this engine, as a sentence.
    const std::string& engine_reason() const { return reason_; }
    /// Whether shaders have the dot product of packed bytes.
    bool has_dot() const { return has_dot_; }
    /// Of the engine `compute` only.
    const MatrixUnits& matrix_units() const { return matrix_units_; }
    uint64_t max_buffer_range() const { return max_buffer_range_; }
    /// Threads of a workgroup along its first axis, at most.
    uint32_t max_workgroup() const { return max_workgroup_; }
    const vk::PhysicalDeviceLimits& limits() const { return limits_; }
    /// What is enabled.
    const FeatureSet& features() const { return features_; }
    /// Of two-dimensional images, in the layout that is the device's own; nothing: it has none.
    std::optional<vk::ImageFormatProperties> image_limits(vk::Format format,
                                                          vk::ImageUsageFlags usage) const;
    /// Whether samplers interpolate between texels of this format.
    bool filters(vk::Format format) const;
    const TensorProperties& tensor_limits() const { return tensor_limits_; }
    /// Whether its neural accelerator counts what it does.
    bool has_statistics() const { return has_statistics_; }
    /// Of the queue that `submit` is for.
    uint32_t queue_family() const { return queue_family_; }
    /// Of all queues that use its buffers.
    const std::vector<uint32_t>& families() const { return families_; }
    /// Of memory that the host writes, and that lies where the device has most of its own; nothing:
    /// there is none.
    vk::MemoryPropertyFlags direct_memory() const;
    bool runs_shaders() const { return runs_shaders_; }
    /// Whether it is a software renderer, whose threads need the processors.
    bool is_cpu() const { return type_ == vk::PhysicalDeviceType::eCpu; }
    vk::PhysicalDeviceType type() const { return type_; }
    uint32_t vendor() const { return vendor_; }
    /// The driver's version, as a number that its vendor knows to read.
    const std::string& driver() const { return driver_; }
    /// What is known of kernels on this device; to be used while `loading` is held.
    KernelFacts& facts() { return *facts_; }
    /// Nanoseconds of a timestamp's tick; 0 if the queue has no timestamps.
    double timestamp_period() const { return timestamp_period_; }
    PipelineCache& cache() { return *cache_; }
    const PipelineCache& cache() const { return *cache_; }
    const DebugNames& names() const { return names_; }
    /// Of an application's device.
    PortKernels& ports() { return *ports_; }

    /// Held while objects of the device are made or destroyed.
    std::mutex& loading() { return loading_; }

    /// Memory with all of `required`, and the most of `preferred`.
    Memory allocate(const vk::MemoryRequirements& needs, vk::MemoryPropertyFlags required,
                    vk::MemoryPropertyFlags preferred) const;

    /// Queues a recorded command buffer; `fence` is signalled when it is done.
    void submit(vk::CommandBuffer commands, vk::Fence fence);

  private:
    Device(const Instance::Candidate& chosen, EngineKind engine, std::string reason);
    Device(const arm_vgf::Adopted& adopted, std::unique_ptr<Instance> instance);
    void create_for_graphs(const Instance::Candidate& chosen);
    void create_for_compute(const Instance::Candidate& chosen);
    /// What the engine `compute` uses of a device with these features and extensions.
    void use(FeatureSet features, const Instance::Candidate& chosen);
    void open_caches(const Instance::Candidate& chosen, const std::string& cache_folder);
    void create(const Instance::Candidate& chosen, const std::vector<const char*>& extensions,
                const vk::PhysicalDeviceFeatures2& features);
    void choose_queue_family(const vk::raii::PhysicalDevice& physical);

    const pid_t process_ = getpid();
    std::atomic<bool> lost_{false};
    std::unique_ptr<Instance> instance_;
    vk::raii::Device device_{nullptr};
    ArmCalls arm_;
    std::string name_;
    EngineKind engine_;
    std::string reason_;
    bool has_dot_ = false;
    MatrixUnits matrix_units_;
    vk::raii::PhysicalDevice physical_;
    vk::PhysicalDeviceLimits limits_;
    FeatureSet features_;
    uint64_t max_buffer_range_ = 0;
    uint32_t max_workgroup_ = 0;
    TensorProperties tensor_limits_;
    vk::PhysicalDeviceMemoryProperties memory_;
    arm_vgf::Allocator allocator_;
    uint32_t queue_family_ = 0;
    std::vector<uint32_t> families_;
    bool runs_shaders_ = false;
    bool has_statistics_ = false;
    vk::PhysicalDeviceType type_;
    uint32_t vendor_;
    std::string driver_;
    double timestamp_period_ = 0;
    vk::raii::Queue queue_{nullptr};
    std::mutex queue_mutex_;
    std::mutex loading_;
    std::unique_ptr<PipelineCache> cache_;
    std::unique_ptr<KernelFacts> facts_;
    std::unique_ptr<PortKernels> ports_;
    DebugNames names_;  ///< of an application's
};

}  // namespace arm_runtime::vgf
