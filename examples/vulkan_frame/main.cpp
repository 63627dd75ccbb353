// A renderer without a window, whose frames a network makes twice as large in the same command
// buffer.
//
//     vulkan_frame upscale.vgf FRAMES [OUT] [--async]
//
// Writes OUT_0000.ppm, OUT_0001.ppm, ... and prints how long each part of a frame took on the
// device. With --async, the network has command buffers and, where the device has more than one, a
// queue of its own.
#include <algorithm>
#include <arm_vgf/vgf.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>
#include <vulkan/vulkan_raii.hpp>

#include "scene.h"

namespace vgf = arm_vgf;

constexpr uint32_t kFramesInFlight = 2;
constexpr uint32_t kStamps =
    5;  // before and after the scene; before and after the network, after the copy
constexpr float kStep = 0.05F;  // of time from frame to frame, as in network.py
constexpr float kSpots[4][2] = {
    {0.25F, -0.25F}, {-0.25F, 0.25F}, {0.25F, 0.25F}, {-0.25F, -0.25F}};  // jitter
constexpr vk::ImageSubresourceRange kWhole{vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1};

struct Memory {
    const vk::raii::PhysicalDevice& physical;
    const vk::raii::Device& device;

    vk::raii::DeviceMemory operator()(const vk::MemoryRequirements& needs,
                                      vk::MemoryPropertyFlags flags) const {
        const auto types = physical.getMemoryProperties();
        for (uint32_t i = 0; i < types.memoryTypeCount; ++i) {
            if ((needs.memoryTypeBits >> i & 1) &&
                (types.memoryTypes[i].propertyFlags & flags) == flags) {
                return {device, vk::MemoryAllocateInfo(needs.size, i)};
            }
        }
        throw std::runtime_error("no memory of this kind");
    }
};

struct Picture {
    vk::raii::Image image{nullptr};
    vk::raii::DeviceMemory memory{nullptr};
    vk::raii::ImageView view{nullptr};

    /// `families`: of the queues that use it.
    Picture(const Memory& memory_of, vk::Format format, uint32_t width, uint32_t height,
            vk::ImageUsageFlags usage, const std::vector<uint32_t>& families) {
        vk::ImageCreateInfo info({}, vk::ImageType::e2D, format, {width, height, 1}, 1, 1,
                                 vk::SampleCountFlagBits::e1, vk::ImageTiling::eOptimal, usage);
        if (families.size() > 1)
            info.setSharingMode(vk::SharingMode::eConcurrent).setQueueFamilyIndices(families);
        image = {memory_of.device, info};
        memory = memory_of(image.getMemoryRequirements(), vk::MemoryPropertyFlagBits::eDeviceLocal);
        image.bindMemory(*memory, 0);
        view = {memory_of.device,
                vk::ImageViewCreateInfo({}, *image, vk::ImageViewType::e2D, format, {}, kWhole)};
    }
};

/// A buffer that the host sees.
struct Mapped {
    vk::raii::Buffer buffer{nullptr};
    vk::raii::DeviceMemory memory{nullptr};
    void* bytes = nullptr;

    Mapped(const Memory& memory_of, vk::DeviceSize size, vk::BufferUsageFlags usage) {
        using Kind = vk::MemoryPropertyFlagBits;
        buffer = {memory_of.device, vk::BufferCreateInfo({}, size, usage)};
        memory =
            memory_of(buffer.getMemoryRequirements(), Kind::eHostVisible | Kind::eHostCoherent);
        buffer.bindMemory(*memory, 0);
        bytes = memory.mapMemory(0, size);
    }
};

/// What each frame in flight has of its own.
struct Frame {
    Picture color;  // depth in alpha
    Picture motion;
    Picture upscaled;
    Mapped jitter;
    Mapped pixels;
    vk::raii::DescriptorSet set{nullptr};
    vk::raii::CommandBuffer draw{nullptr};
    vk::raii::CommandBuffer upscale{nullptr};  // with --async
    vk::raii::QueryPool stamps{nullptr};
    int number = -1;  // of the frame that it holds
};

/// From one layout, and what wrote or reads it, to the next.
void change(const vk::raii::CommandBuffer& commands, const Picture& picture, vk::ImageLayout from,
            vk::ImageLayout to, vgf::Access before, vgf::Access after) {
    const vk::ImageMemoryBarrier barrier(
        vk::AccessFlags(before.access), vk::AccessFlags(after.access), from, to,
        VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED, *picture.image, kWhole);
    commands.pipelineBarrier(vk::PipelineStageFlags(before.stages),
                             vk::PipelineStageFlags(after.stages), {}, {}, {}, barrier);
}

constexpr vgf::Access kDraw{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
constexpr vgf::Access kCopy{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT};

/// Which queue of which family.
struct QueueOf {
    uint32_t family;
    uint32_t index;
};

/// A queue beside that of the renderer: of another family, of its own, or, if there is no other,
/// itself.
QueueOf second_queue(const vk::raii::PhysicalDevice& physical, const vgf::Requirements& wanted) {
    if (wanted.queue_families.size() > 1) return {wanted.queue_families[1], 0};
    const uint32_t family = wanted.queue_families.front();
    return {family, physical.getQueueFamilyProperties()[family].queueCount > 1 ? 1U : 0U};
}

int run(const std::string& path, int count, const std::string& out, bool async) {
    // The instance, and a device with what the library can use.
    vk::raii::Context context;
    const vk::ApplicationInfo application("vulkan_frame", 0, nullptr, 0, VK_API_VERSION_1_3);
    const vk::raii::Instance instance(context, vk::InstanceCreateInfo({}, &application));
    const vk::raii::PhysicalDevice physical = vk::raii::PhysicalDevices(instance).front();
    if (physical.getProperties().apiVersion < VK_API_VERSION_1_3)
        throw std::runtime_error("no Vulkan 1.3");
    const auto wanted =
        vgf::requirements(*instance, *physical, vkGetInstanceProcAddr, VK_API_VERSION_1_3);
    const QueueOf draws{wanted.queue_families.front(), 0};
    const QueueOf upscales = async ? second_queue(physical, wanted) : draws;
    std::vector<uint32_t> families{draws.family};
    if (upscales.family != draws.family) families.push_back(upscales.family);
    vk::PhysicalDeviceVulkan13Features v13;
    v13.synchronization2 = VK_TRUE;
    vk::PhysicalDeviceVulkan12Features v12;
    v12.timelineSemaphore = VK_TRUE;
    v12.pNext = &v13;
    vk::PhysicalDeviceFeatures2 features({}, &v12);
    if (physical.getFeatures().shaderStorageImageExtendedFormats == VK_FALSE) {
        throw std::runtime_error(
            "the device has no storage images of rg16f, which motion vectors are");
    }
    features.features.shaderStorageImageExtendedFormats = VK_TRUE;
    for (const vgf::Feature& feature : wanted.features) {
        std::printf("the device has %s, for %s\n", feature.name, feature.purpose);
    }
    const std::vector<const char*> extensions = vgf::enable(wanted.features, &features);
    const float priorities[2] = {1, 1};
    std::vector<vk::DeviceQueueCreateInfo> queues;
    for (const uint32_t family : families) {
        if (physical.getQueueFamilyProperties()[family].timestampValidBits == 0) {
            throw std::runtime_error("a queue has no timestamps");
        }
        queues.emplace_back(vk::DeviceQueueCreateFlags(), family,
                            upscales.family == family ? upscales.index + 1 : 1, priorities);
    }
    const auto device_info = vk::DeviceCreateInfo()
                                 .setPNext(&features)
                                 .setQueueCreateInfos(queues)
                                 .setPEnabledExtensionNames(extensions);
    const vk::raii::Device device(physical, device_info);
    const vk::raii::Queue draw_queue(device, draws.family, draws.index);
    const vk::raii::Queue upscale_queue(device, upscales.family, upscales.index);

    // The program.
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                  std::istreambuf_iterator<char>());
    const VkDeviceCreateInfo& enabled = device_info;
    // The queue that the network's command buffers are submitted to.
    const vgf::Device adopted =
        vgf::Device::adopt({*instance, *physical, *device, upscales.family, *upscale_queue,
                            vkGetInstanceProcAddr, &enabled, VK_API_VERSION_1_3});
    // The result stays on the device: it is the history of the next frame.
    vgf::ProgramOptions options;
    options.frames_in_flight = kFramesInFlight;
    options.states = {{"output_0", "input_3"}};
    const vgf::MemoryUse needed =
        vgf::Program::memory_needed(bytes.data(), bytes.size(), adopted, options);
    std::printf("weights %.1f KiB, scratch %.1f KiB\n",
                static_cast<double>(needed.constants) / 1024,
                static_cast<double>(needed.work) / 1024);
    vgf::Program program(bytes.data(), bytes.size(), adopted, options);
    const vgf::TensorInfo& input =
        program.inputs().at(0);  // [1, 4, height, width]; the output is twice as large
    const auto height = static_cast<uint32_t>(input.shape.at(2)),
               width = static_cast<uint32_t>(input.shape.at(3));
    std::printf("%s\n%u x %u to %u x %u\n", adopted.description().c_str(), width, height, 2 * width,
                2 * height);

    // The renderer: one compute shader.
    const auto slot = [](uint32_t number) {
        return vk::DescriptorSetLayoutBinding(number, vk::DescriptorType::eStorageImage, 1,
                                              vk::ShaderStageFlagBits::eCompute);
    };
    const std::array slots{slot(0), slot(1)};  // color, motion
    const vk::raii::DescriptorSetLayout set_layout(device,
                                                   vk::DescriptorSetLayoutCreateInfo({}, slots));
    using Push = std::array<float, 4>;  // jitter, time, step
    const vk::PushConstantRange push(vk::ShaderStageFlagBits::eCompute, 0, sizeof(Push));
    const vk::raii::PipelineLayout layout(device,
                                          vk::PipelineLayoutCreateInfo({}, *set_layout, push));
    const vk::raii::ShaderModule module(device,
                                        vk::ShaderModuleCreateInfo({}, sizeof(kScene), kScene));
    const vk::PipelineShaderStageCreateInfo stage({}, vk::ShaderStageFlagBits::eCompute, *module,
                                                  "main");
    const vk::raii::Pipeline scene(device, nullptr,
                                   vk::ComputePipelineCreateInfo({}, stage, *layout));
    const vk::DescriptorPoolSize size(vk::DescriptorType::eStorageImage,
                                      slots.size() * kFramesInFlight);
    const vk::raii::DescriptorPool sets(
        device, vk::DescriptorPoolCreateInfo(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet,
                                             kFramesInFlight, size));
    const auto pool_of = [&](QueueOf queue) {
        return vk::raii::CommandPool(
            device, {vk::CommandPoolCreateFlagBits::eResetCommandBuffer, queue.family});
    };
    const vk::raii::CommandPool draw_pool = pool_of(draws), upscale_pool = pool_of(upscales);
    const auto commands_of = [&](const vk::raii::CommandPool& pool) {
        return std::move(
            vk::raii::CommandBuffers(device, {*pool, vk::CommandBufferLevel::ePrimary, 1})[0]);
    };
    const Memory memory{physical, device};
    std::vector<Frame> frames;
    for (uint32_t i = 0; i < kFramesInFlight; ++i) {
        using Usage = vk::ImageUsageFlagBits;
        using Bytes = vk::BufferUsageFlagBits;
        constexpr auto kDrawn = Usage::eStorage | Usage::eSampled;
        constexpr auto kTaken = Usage::eStorage | Usage::eTransferSrc;
        Frame frame{
            Picture(memory, vk::Format::eR16G16B16A16Sfloat, width, height, kDrawn, families),
            Picture(memory, vk::Format::eR16G16Sfloat, width, height, kDrawn, families),
            Picture(memory, vk::Format::eR8G8B8A8Unorm, 2 * width, 2 * height, kTaken, {}),
            Mapped(memory, 2 * sizeof(float), Bytes::eStorageBuffer),
            Mapped(memory, 16ULL * width * height, Bytes::eTransferDst)};
        frame.set = std::move(
            vk::raii::DescriptorSets(device, vk::DescriptorSetAllocateInfo(*sets, *set_layout))[0]);
        const std::array<vk::DescriptorImageInfo, 2> views{
            {{{}, *frame.color.view, vk::ImageLayout::eGeneral},
             {{}, *frame.motion.view, vk::ImageLayout::eGeneral}}};
        for (uint32_t k = 0; k < views.size(); ++k) {
            device.updateDescriptorSets(
                vk::WriteDescriptorSet(*frame.set, k, 0, 1, vk::DescriptorType::eStorageImage,
                                       &views[k]),
                {});
        }
        frame.draw = commands_of(draw_pool);
        if (async) frame.upscale = commands_of(upscale_pool);
        frame.stamps = {device, vk::QueryPoolCreateInfo({}, vk::QueryType::eTimestamp, kStamps)};
        // Where the network finds this frame, and where it leaves the result.
        const auto planes = [](const Picture& picture, VkImageLayout in, VkFormat format,
                               uint32_t w, uint32_t h) {
            return vgf::Image{*picture.view, in, format, w, h, vgf::Channels::kFirst};
        };
        constexpr VkImageLayout kRead = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
        program.bind_input(
            i, 0, planes(frame.color, kRead, VK_FORMAT_R16G16B16A16_SFLOAT, width, height));
        program.bind_input(i, 1,
                           planes(frame.motion, kRead, VK_FORMAT_R16G16_SFLOAT, width, height));
        program.bind_input(i, 2, *frame.jitter.buffer, 0);
        program.bind_output(i, 0,
                            planes(frame.upscaled, VK_IMAGE_LAYOUT_GENERAL,
                                   VK_FORMAT_R8G8B8A8_UNORM, 2 * width, 2 * height));
        frames.push_back(std::move(frame));
    }

    // Two timelines: of frame n, the value n + 1 says that its scene is drawn, and that it is done.
    const auto timeline = [&] {
        const vk::SemaphoreTypeCreateInfo counts(vk::SemaphoreType::eTimeline, 0);
        return vk::raii::Semaphore(device, vk::SemaphoreCreateInfo({}, &counts));
    };
    const vk::raii::Semaphore drawn = timeline(), done = timeline();
    using Stage = vk::PipelineStageFlagBits2;
    const auto submit = [](const vk::raii::Queue& queue, const vk::raii::CommandBuffer& commands,
                           const std::vector<vk::SemaphoreSubmitInfo>& waits,
                           vk::SemaphoreSubmitInfo signal) {
        const vk::CommandBufferSubmitInfo buffer(*commands);
        queue.submit2(vk::SubmitInfo2()
                          .setWaitSemaphoreInfos(waits)
                          .setCommandBufferInfos(buffer)
                          .setSignalSemaphoreInfos(signal));
    };

    // Also if an exception is on its way: nothing is destroyed that the device still uses.
    struct Idle {
        const vk::raii::Device& device;
        ~Idle() {
            try {
                device.waitIdle();
            } catch (const vk::SystemError&) {  // the device is lost: nothing is pending
            }
        }
    };
    const Idle idle{device};
    struct Part {
        const char* name;
        uint32_t from, to;  // stamps
        std::vector<double> times;
    };
    Part parts[] = {{"scene", 0, 1, {}}, {"network", 2, 3, {}}, {"copy", 3, 4, {}}};
    const auto finish = [&](Frame& frame) {
        if (frame.number < 0) return;
        const uint64_t value = static_cast<uint64_t>(frame.number) + 1;
        const auto until = vk::SemaphoreWaitInfo().setSemaphores(*done).setValues(value);
        if (device.waitSemaphores(until, UINT64_MAX) != vk::Result::eSuccess) return;
        const auto [result, ticks] = frame.stamps.getResults<uint64_t>(
            0, kStamps, kStamps * sizeof(uint64_t), sizeof(uint64_t), vk::QueryResultFlagBits::e64);
        const double period = physical.getProperties().limits.timestampPeriod * 1e-6;
        for (Part& part : parts) {
            part.times.push_back(static_cast<double>(ticks[part.to] - ticks[part.from]) * period);
        }
        char name[16];
        std::snprintf(name, sizeof(name), "_%04d.ppm", frame.number);
        std::ofstream picture(out + name, std::ios::binary);
        picture << "P6\n" << 2 * width << " " << 2 * height << "\n255\n";
        for (uint32_t i = 0; i < 4 * width * height; ++i) {
            picture.write(static_cast<const char*>(frame.pixels.bytes) + 4 * size_t{i}, 3);
        }
    };
    for (int number = 0; number < count; ++number) {
        const uint32_t index = static_cast<uint32_t>(number) % kFramesInFlight;
        Frame& frame = frames[index];
        finish(frame);  // the one before the last, so that one is always on the device
        frame.number = number;
        const float* const spot = kSpots[number % 4];
        const Push moved{spot[0] / static_cast<float>(width), spot[1] / static_cast<float>(height),
                         kStep * static_cast<float>(number), kStep};
        std::memcpy(frame.jitter.bytes, moved.data(), 2 * sizeof(float));

        const vk::raii::CommandBuffer& draw = frame.draw;
        const vk::raii::CommandBuffer& upscale = async ? frame.upscale : frame.draw;
        const auto stamp = [&](const vk::raii::CommandBuffer& commands, uint32_t at) {
            commands.writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *frame.stamps, at);
        };
        using Layout = vk::ImageLayout;
        draw.begin({});
        draw.resetQueryPool(*frame.stamps, 0, kStamps);
        stamp(draw, 0);
        for (const Picture* picture : {&frame.color, &frame.motion}) {
            change(draw, *picture, Layout::eUndefined, Layout::eGeneral, vgf::kInputs, kDraw);
        }
        draw.bindPipeline(vk::PipelineBindPoint::eCompute, *scene);
        draw.bindDescriptorSets(vk::PipelineBindPoint::eCompute, *layout, 0, *frame.set, {});
        draw.pushConstants<Push>(*layout, vk::ShaderStageFlagBits::eCompute, 0, moved);
        draw.dispatch((width + 7) / 8, (height + 7) / 8, 1);
        stamp(draw, 1);
        for (const Picture* picture : {&frame.color, &frame.motion}) {
            change(draw, *picture, Layout::eGeneral, Layout::eShaderReadOnlyOptimal, kDraw,
                   vgf::kInputs);
        }
        const uint64_t value = static_cast<uint64_t>(number) + 1;
        std::vector<vk::SemaphoreSubmitInfo> waits;
        if (async) {
            draw.end();
            submit(draw_queue, draw, {}, {*drawn, value, Stage::eAllCommands});
            waits.push_back({*drawn, value, Stage(vgf::kInputs.stages)});
            upscale.begin({});
        }
        stamp(upscale, 2);
        change(upscale, frame.upscaled, Layout::eUndefined, Layout::eGeneral, kCopy, vgf::kOutputs);
        program.record(*upscale, index);
        stamp(upscale, 3);
        change(upscale, frame.upscaled, Layout::eGeneral, Layout::eTransferSrcOptimal,
               vgf::kOutputs, kCopy);
        const vk::BufferImageCopy all(0, 0, 0, {vk::ImageAspectFlagBits::eColor, 0, 0, 1}, {},
                                      {2 * width, 2 * height, 1});
        upscale.copyImageToBuffer(*frame.upscaled.image, Layout::eTransferSrcOptimal,
                                  *frame.pixels.buffer, all);
        const vk::MemoryBarrier to_host(vk::AccessFlagBits::eTransferWrite,
                                        vk::AccessFlagBits::eHostRead);
        upscale.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer,
                                vk::PipelineStageFlagBits::eHost, {}, to_host, {}, {});
        stamp(upscale, 4);
        upscale.end();
        submit(upscale_queue, upscale, waits, {*done, value, Stage::eAllCommands});
    }
    // The oldest first.
    for (int number = count; number < count + static_cast<int>(kFramesInFlight); ++number) {
        finish(frames[static_cast<uint32_t>(number) % kFramesInFlight]);
    }
    std::printf("%d frames, ms on the device\n%-10s%10s%10s\n", count, "part", "median", "longest");
    for (Part& part : parts) {
        std::sort(part.times.begin(), part.times.end());
        std::printf("%-10s%10.3f%10.3f\n", part.name, part.times[part.times.size() / 2],
                    part.times.back());
    }
    return 0;
}

int main(int count, char** words) {
    const bool async = count > 1 && std::string(words[count - 1]) == "--async";
    if (async) --count;
    if (count < 3 || std::atoi(words[2]) < 1) {
        std::fputs("usage: vulkan_frame upscale.vgf FRAMES [OUT] [--async]\n", stderr);
        return 2;
    }
    try {
        return run(words[1], std::atoi(words[2]), count > 3 ? words[3] : "frame", async);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
