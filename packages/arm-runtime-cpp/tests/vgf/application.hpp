// An application as small as it can be, for vgf_frame: a device, buffers, images and command
// buffers of its own, and what its frames wait for.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"
#include "stand_in.hpp"
#include "vgf/vulkan_api.hpp"
#include "vgf/vulkan_matrix.hpp"

namespace vgf = arm_vgf;
namespace vk = arm_runtime_vulkan;

inline PFN_vkGetInstanceProcAddr loader() {
    stand_in::real = arm_runtime::vgf::vulkan().getDispatcher()->vkGetInstanceProcAddr;
    return stand_in::get_proc_addr;
}

inline vk::raii::Instance make_instance(const vk::ApplicationInfo& application, bool labels) {
    auto info = vk::InstanceCreateInfo().setPApplicationInfo(&application);
    const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (labels) info.setPEnabledExtensionNames(extension);
    return {arm_runtime::vgf::vulkan(), info};
}

inline vk::ImageAspectFlags aspect_of(vk::Format format) {
    return format == vk::Format::eD32Sfloat ? vk::ImageAspectFlagBits::eDepth
                                            : vk::ImageAspectFlagBits::eColor;
}

inline bool replays = false;  ///< ProgramOptions::replay

class Application {
  public:
    struct Buffer {
        vk::raii::Buffer handle{nullptr};
        vk::raii::DeviceMemory memory{nullptr};
        char* mapped = nullptr;
    };
    struct Picture {
        vk::raii::Image handle{nullptr};
        vk::raii::DeviceMemory memory{nullptr};
        vk::raii::ImageView view{nullptr};
    };

    explicit Application(const std::string& masked)
        : instance_(make_instance(application_, masked == "labels")),
          physical_(vk::raii::PhysicalDevices(instance_).front()),
          requirements_(vgf::requirements(*instance_, *physical_, loader(), VK_API_VERSION_1_3)) {
        // Memory of an allocator; constants that are submitted, to a queue of their own; or
        // recorded.
        static const char* const kOthers[] = {"none",  "all",      "allocator", "staged",
                                              "queue", "recorded", "labels"};
        bool found = std::find(std::begin(kOthers), std::end(kOthers), masked) != std::end(kOthers);
        stand_in::apart = masked == "staged" || masked == "queue" || masked == "recorded";
        std::vector<vgf::Feature> enabled;
        for (const vgf::Feature& feature : requirements_.features) {
            found = found || masked == feature.name;
            if (masked == feature.name || masked == "all") continue;
            enabled.push_back(feature);
            // A structure that the device does not know is not chained.
            if (feature.name == std::string("cooperativeMatrix")) v13_.setPNext(&matrices_);
        }
        if (!found) throw vgf::Error("no feature " + masked);
        const float priority = 1;
        const auto queue =
            vk::DeviceQueueCreateInfo().setQueueFamilyIndex(family()).setQueuePriorities(priority);
        extensions_ = vgf::enable(enabled, &features_);
        info_.setPNext(&features_)
            .setQueueCreateInfos(queue)
            .setPEnabledExtensionNames(extensions_);
        device_ = {physical_, info_};
        queue_ = {device_, family(), 0};
        stand_in::first = *queue_;
        pool_ = pool();
        vgf::Allocator allocator;
        if (masked == "allocator") {
            block_ = buffer(size_t{16} << 20);
            allocator = {this, allocate_part, free_part};
        }
        vgf::Adopted adopted = adopted_info();
        adopted.allocator = allocator;
        adopted.loading_family = family();
        if (masked == "queue") adopted.loading_queue = stand_in::second;
        adopted_ = std::make_unique<vgf::Device>(vgf::Device::adopt(adopted));
        options_.replay = replays;
        if (masked == "recorded") options_.upload = vgf::Upload::kRecorded;
    }
    ~Application() {
        if (parts_ != 0) std::printf("parts %zu freed %zu\n", parts_, freed_);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    uint32_t family() const { return requirements_.queue_families.front(); }
    const vgf::Requirements& requirements() const { return requirements_; }
    const vgf::Device& adopted() const { return *adopted_; }
    /// As `adopt` was told, without an allocator or a second queue.
    vgf::Adopted adopted_info() const {
        return {*instance_, *physical_, *device_,        family(),
                *queue_,    loader(),   &enabled_with(), VK_API_VERSION_1_3};
    }
    vgf::ProgramOptions options(uint32_t frames) const {
        vgf::ProgramOptions options = options_;
        options.frames_in_flight = frames;
        return options;
    }
    const vk::raii::Instance& instance() const { return instance_; }
    const vk::raii::PhysicalDevice& physical() const { return physical_; }
    arm_vgf_adopt_info adopt_info() const {
        return {sizeof(arm_vgf_adopt_info),
                *instance_,
                *physical_,
                *device_,
                family(),
                *queue_,
                loader(),
                &enabled_with(),
                VK_API_VERSION_1_3,
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                0,
                VK_NULL_HANDLE};
    }

    Buffer buffer(size_t bytes) const {
        using Usage = vk::BufferUsageFlagBits;
        Buffer made;
        made.handle = {device_,
                       vk::BufferCreateInfo().setSize(bytes).setUsage(
                           Usage::eStorageBuffer | Usage::eTransferSrc | Usage::eTransferDst)};
        using Kind = vk::MemoryPropertyFlagBits;
        made.memory =
            allocate(made.handle.getMemoryRequirements(), Kind::eHostVisible | Kind::eHostCoherent);
        made.handle.bindMemory(*made.memory, 0);
        made.mapped = static_cast<char*>(made.memory.mapMemory(0, VK_WHOLE_SIZE));
        return made;
    }

    /// Of the device alone, where it has such memory.
    Buffer device_buffer(size_t bytes) const {
        using Usage = vk::BufferUsageFlagBits;
        Buffer made;
        made.handle = {device_,
                       vk::BufferCreateInfo().setSize(bytes).setUsage(Usage::eStorageBuffer)};
        made.memory =
            allocate(made.handle.getMemoryRequirements(), vk::MemoryPropertyFlagBits::eDeviceLocal);
        made.handle.bindMemory(*made.memory, 0);
        return made;
    }

    vk::raii::QueryPool timestamps(uint32_t count) const {
        return {
            device_,
            vk::QueryPoolCreateInfo().setQueryType(vk::QueryType::eTimestamp).setQueryCount(count)};
    }
    std::vector<vk::raii::Fence> signalled_fences(uint32_t count) const {
        std::vector<vk::raii::Fence> made;
        const auto info = vk::FenceCreateInfo().setFlags(vk::FenceCreateFlagBits::eSignaled);
        while (made.size() < count) made.emplace_back(device_, info);
        return made;
    }
    void wait_and_reset(const vk::raii::Fence& fence) const {
        if (device_.waitForFences(*fence, true, UINT64_MAX) != vk::Result::eSuccess) {
            throw vgf::Error("a frame has no end");
        }
        device_.resetFences(*fence);
    }
    void submit(const vk::raii::CommandBuffer& commands, const vk::raii::Fence& fence) const {
        queue_.submit(vk::SubmitInfo().setCommandBuffers(*commands), *fence);
    }

    Picture picture(vk::Format format, uint32_t width, uint32_t height,
                    vk::ImageUsageFlags usage) const {
        Picture made;
        made.handle = {device_, vk::ImageCreateInfo()
                                    .setImageType(vk::ImageType::e2D)
                                    .setFormat(format)
                                    .setExtent({width, height, 1})
                                    .setMipLevels(1)
                                    .setArrayLayers(1)
                                    .setUsage(usage | vk::ImageUsageFlagBits::eTransferSrc |
                                              vk::ImageUsageFlagBits::eTransferDst)};
        made.memory = allocate(made.handle.getMemoryRequirements(), {});
        made.handle.bindMemory(*made.memory, 0);
        made.view = {device_, vk::ImageViewCreateInfo()
                                  .setImage(*made.handle)
                                  .setViewType(vk::ImageViewType::e2D)
                                  .setFormat(format)
                                  .setSubresourceRange({aspect_of(format), 0, 1, 0, 1})};
        return made;
    }

    /// Of a thread of its own.
    vk::raii::CommandPool pool() const {
        return {device_, vk::CommandPoolCreateInfo()
                             .setFlags(vk::CommandPoolCreateFlagBits::eResetCommandBuffer)
                             .setQueueFamilyIndex(family())};
    }

    std::vector<vk::raii::CommandBuffer> commands(uint32_t count) const {
        return commands(count, *pool_);
    }

    std::vector<vk::raii::CommandBuffer> commands(uint32_t count, vk::CommandPool from) const {
        vk::raii::CommandBuffers made(
            device_,
            vk::CommandBufferAllocateInfo().setCommandPool(from).setCommandBufferCount(count));
        return std::move(made);
    }

    void submit_and_wait(const std::vector<vk::raii::CommandBuffer>& recorded) const {
        for (const auto& commands : recorded)
            queue_.submit(vk::SubmitInfo().setCommandBuffers(*commands));
        queue_.waitIdle();
    }

  private:
    const VkDeviceCreateInfo& enabled_with() const { return info_; }

    vk::raii::DeviceMemory allocate(const vk::MemoryRequirements& needs,
                                    vk::MemoryPropertyFlags flags) const {
        const auto memory = physical_.getMemoryProperties();
        for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
            if ((needs.memoryTypeBits >> i & 1) &&
                (memory.memoryTypes[i].propertyFlags & flags) == flags) {
                return {
                    device_,
                    vk::MemoryAllocateInfo().setAllocationSize(needs.size).setMemoryTypeIndex(i)};
            }
        }
        throw vgf::Error("no memory");
    }

    static VkResult allocate_part(void* user, const VkMemoryRequirements* needs,
                                  VkMemoryPropertyFlags, VkMemoryPropertyFlags,
                                  vgf::Allocation* made) {
        auto& self = *static_cast<Application*>(user);
        const size_t begin = (self.used_ + needs->alignment) / needs->alignment * needs->alignment;
        if (begin + needs->size > size_t{16} << 20) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        self.used_ = begin + needs->size;
        ++self.parts_;
        *made = {*self.block_.memory, begin, self.block_.mapped + begin, user};
        return VK_SUCCESS;
    }
    static void free_part(void* user, const vgf::Allocation* made) {
        if (made->own == user) ++static_cast<Application*>(user)->freed_;
    }

    vk::ApplicationInfo application_{"vgf_frame", 0, nullptr, 0, VK_API_VERSION_1_3};
    vk::raii::Instance instance_;
    vk::raii::PhysicalDevice physical_;
    vgf::Requirements requirements_;
    arm_runtime::vgf::MatrixFeatures matrices_;
    vk::PhysicalDeviceVulkan13Features v13_;
    vk::PhysicalDeviceVulkan12Features v12_ = vk::PhysicalDeviceVulkan12Features().setPNext(&v13_);
    vk::PhysicalDeviceVulkan11Features v11_ = vk::PhysicalDeviceVulkan11Features().setPNext(&v12_);
    vk::PhysicalDeviceFeatures2 features_ = vk::PhysicalDeviceFeatures2().setPNext(&v11_);
    std::vector<const char*> extensions_;
    vk::DeviceCreateInfo info_;
    vk::raii::Device device_{nullptr};
    vk::raii::Queue queue_{nullptr};
    vk::raii::CommandPool pool_{nullptr};
    Buffer block_;  ///< whose memory has the parts
    size_t used_ = 0;
    size_t parts_ = 0;
    size_t freed_ = 0;
    std::unique_ptr<vgf::Device> adopted_;
    vgf::ProgramOptions options_;
};

inline void barrier(const vk::raii::CommandBuffer& commands, const vgf::Access& from,
                    const vgf::Access& to) {
    commands.pipelineBarrier(
        vk::PipelineStageFlags(from.stages), vk::PipelineStageFlags(to.stages), {},
        vk::MemoryBarrier(vk::AccessFlags(from.access), vk::AccessFlags(to.access)), {}, {});
}

inline void change_layout(const vk::raii::CommandBuffer& commands, vk::Image image,
                          vk::ImageLayout from, vk::ImageLayout to, const vgf::Access& before,
                          const vgf::Access& after,
                          vk::ImageAspectFlags aspect = vk::ImageAspectFlagBits::eColor) {
    const auto change = vk::ImageMemoryBarrier()
                            .setSrcAccessMask(vk::AccessFlags(before.access))
                            .setDstAccessMask(vk::AccessFlags(after.access))
                            .setOldLayout(from)
                            .setNewLayout(to)
                            .setSrcQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                            .setDstQueueFamilyIndex(VK_QUEUE_FAMILY_IGNORED)
                            .setImage(image)
                            .setSubresourceRange({aspect, 0, 1, 0, 1});
    commands.pipelineBarrier(vk::PipelineStageFlags(before.stages),
                             vk::PipelineStageFlags(after.stages), {}, {}, {}, change);
}

constexpr vgf::Access kHostWrites{VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT};
constexpr vgf::Access kHostReads{VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT};
constexpr vgf::Access kCopyWrites{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr vgf::Access kCopyReads{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT};
constexpr vgf::Access kNothing{VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, 0};
