// A renderer without a window, whose frames a network makes twice as large in the same command buffer.
//
//     vulkan_frame upscale.vgf FRAMES [OUT]
//
// Writes OUT_0000.ppm, OUT_0001.ppm, ... and prints how long each part of a frame took on the device.
#include <vulkan/vulkan_raii.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <arm_vgf/vgf.hpp>

#include "scene.h"

namespace vgf = arm_vgf;

constexpr uint32_t kFramesInFlight = 2;
constexpr uint32_t kStamps = 4;  // before the scene, after it, after the network, after the copy
constexpr vk::ImageSubresourceRange kWhole{vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1};

struct Memory {
    const vk::raii::PhysicalDevice& physical;
    const vk::raii::Device& device;

    vk::raii::DeviceMemory operator()(const vk::MemoryRequirements& needs, vk::MemoryPropertyFlags flags) const {
        const auto types = physical.getMemoryProperties();
        for (uint32_t i = 0; i < types.memoryTypeCount; ++i) {
            if ((needs.memoryTypeBits >> i & 1) && (types.memoryTypes[i].propertyFlags & flags) == flags) {
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

    Picture(const Memory& memory_of, vk::Format format, uint32_t width, uint32_t height, vk::ImageUsageFlags usage) {
        const vk::ImageCreateInfo info({}, vk::ImageType::e2D, format, {width, height, 1}, 1, 1,
                                       vk::SampleCountFlagBits::e1, vk::ImageTiling::eOptimal, usage);
        image = {memory_of.device, info};
        memory = memory_of(image.getMemoryRequirements(), vk::MemoryPropertyFlagBits::eDeviceLocal);
        image.bindMemory(*memory, 0);
        view = {memory_of.device, vk::ImageViewCreateInfo({}, *image, vk::ImageViewType::e2D, format, {}, kWhole)};
    }
};

/// What each frame in flight has of its own.
struct Frame {
    Picture color;
    Picture upscaled;
    vk::raii::Buffer pixels{nullptr};
    vk::raii::DeviceMemory memory{nullptr};
    const uint8_t* mapped = nullptr;
    vk::raii::DescriptorSet set{nullptr};
    vk::raii::CommandBuffer commands{nullptr};
    vk::raii::Fence done{nullptr};
    vk::raii::QueryPool stamps{nullptr};
    int number = -1;  // of the frame that it holds
};

/// From one layout, and what wrote or reads it, to the next.
void change(const vk::raii::CommandBuffer& commands, const Picture& picture, vk::ImageLayout from, vk::ImageLayout to,
            vgf::Access before, vgf::Access after) {
    const vk::ImageMemoryBarrier barrier(vk::AccessFlags(before.access), vk::AccessFlags(after.access), from, to,
                                         VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_IGNORED, *picture.image, kWhole);
    commands.pipelineBarrier(vk::PipelineStageFlags(before.stages), vk::PipelineStageFlags(after.stages), {}, {}, {},
                             barrier);
}

constexpr vgf::Access kDraw{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
constexpr vgf::Access kCopy{VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT};

int run(const std::string& path, int count, const std::string& out) {
    // The instance, and a device with what the library can use.
    vk::raii::Context context;
    const vk::ApplicationInfo application("vulkan_frame", 0, nullptr, 0, VK_API_VERSION_1_3);
    const vk::raii::Instance instance(context, vk::InstanceCreateInfo({}, &application));
    const vk::raii::PhysicalDevice physical = vk::raii::PhysicalDevices(instance).front();
    if (physical.getProperties().apiVersion < VK_API_VERSION_1_3) throw std::runtime_error("no Vulkan 1.3");
    const auto wanted = vgf::requirements(*instance, *physical, vkGetInstanceProcAddr, VK_API_VERSION_1_3);
    const uint32_t family = wanted.queue_families.front();
    if (physical.getQueueFamilyProperties()[family].timestampValidBits == 0) {
        throw std::runtime_error("the queue has no timestamps");
    }
    vk::PhysicalDeviceVulkan13Features v13;
    vk::PhysicalDeviceVulkan12Features v12;
    v12.pNext = &v13;
    vk::PhysicalDeviceFeatures2 features({}, &v12);
    for (const vgf::Feature& feature : wanted.features) {
        std::printf("the device has %s, for %s\n", feature.name, feature.purpose);
    }
    const std::vector<const char*> extensions = vgf::enable(wanted.features, &features);
    const float priority = 1;
    const vk::DeviceQueueCreateInfo queues({}, family, 1, &priority);
    const auto device_info =
        vk::DeviceCreateInfo().setPNext(&features).setQueueCreateInfos(queues).setPEnabledExtensionNames(extensions);
    const vk::raii::Device device(physical, device_info);
    const vk::raii::Queue queue(device, family, 0);

    // The program.
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const VkDeviceCreateInfo& enabled = device_info;
    const vgf::Device adopted = vgf::Device::adopt({*instance, *physical, *device, family, *queue,
                                                    vkGetInstanceProcAddr, &enabled, VK_API_VERSION_1_3});
    // What the network remembers stays on the device: its second output is its second input in the next frame.
    vgf::ProgramOptions options;
    options.frames_in_flight = kFramesInFlight;
    options.states = {{"output_1", "input_1"}};
    const vgf::MemoryUse needed = vgf::Program::memory_needed(bytes.data(), bytes.size(), adopted, options);
    std::printf("weights %.1f KiB, scratch %.1f KiB\n", static_cast<double>(needed.constants) / 1024,
                static_cast<double>(needed.work) / 1024);
    vgf::Program program(bytes.data(), bytes.size(), adopted, options);
    const vgf::TensorInfo& input = program.inputs().at(0);  // [1, 4, height, width]; the output is twice as large
    const auto height = static_cast<uint32_t>(input.shape.at(2)), width = static_cast<uint32_t>(input.shape.at(3));
    std::printf("%s\n%u x %u to %u x %u\n", adopted.description().c_str(), width, height, 2 * width, 2 * height);

    // The renderer: one compute shader.
    const vk::DescriptorSetLayoutBinding binding(0, vk::DescriptorType::eStorageImage, 1,
                                                 vk::ShaderStageFlagBits::eCompute);
    const vk::raii::DescriptorSetLayout set_layout(device, vk::DescriptorSetLayoutCreateInfo({}, binding));
    const vk::PushConstantRange push(vk::ShaderStageFlagBits::eCompute, 0, sizeof(float));
    const vk::raii::PipelineLayout layout(device, vk::PipelineLayoutCreateInfo({}, *set_layout, push));
    const vk::raii::ShaderModule module(device, vk::ShaderModuleCreateInfo({}, sizeof(kScene), kScene));
    const vk::PipelineShaderStageCreateInfo stage({}, vk::ShaderStageFlagBits::eCompute, *module, "main");
    const vk::raii::Pipeline scene(device, nullptr, vk::ComputePipelineCreateInfo({}, stage, *layout));
    const vk::DescriptorPoolSize size(vk::DescriptorType::eStorageImage, kFramesInFlight);
    const vk::raii::DescriptorPool sets(device, vk::DescriptorPoolCreateInfo(
                                                    vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet,
                                                    kFramesInFlight, size));
    const vk::raii::CommandPool commands(device, vk::CommandPoolCreateInfo(
                                                     vk::CommandPoolCreateFlagBits::eResetCommandBuffer, family));
    const Memory memory{physical, device};
    std::vector<Frame> frames;
    for (uint32_t i = 0; i < kFramesInFlight; ++i) {
        using Usage = vk::ImageUsageFlagBits;
        Frame frame{Picture(memory, vk::Format::eR16G16B16A16Sfloat, width, height, Usage::eStorage | Usage::eSampled),
                    Picture(memory, vk::Format::eR8G8B8A8Unorm, 2 * width, 2 * height,
                            Usage::eStorage | Usage::eTransferSrc)};
        const vk::DeviceSize whole = 16ULL * width * height;
        frame.pixels = {device, vk::BufferCreateInfo({}, whole, vk::BufferUsageFlagBits::eTransferDst)};
        frame.memory = memory(frame.pixels.getMemoryRequirements(), vk::MemoryPropertyFlagBits::eHostVisible |
                                                                        vk::MemoryPropertyFlagBits::eHostCoherent);
        frame.pixels.bindMemory(*frame.memory, 0);
        frame.mapped = static_cast<const uint8_t*>(frame.memory.mapMemory(0, whole));
        frame.set = std::move(vk::raii::DescriptorSets(device, vk::DescriptorSetAllocateInfo(*sets, *set_layout))[0]);
        const vk::DescriptorImageInfo view({}, *frame.color.view, vk::ImageLayout::eGeneral);
        device.updateDescriptorSets(
            vk::WriteDescriptorSet(*frame.set, 0, 0, 1, vk::DescriptorType::eStorageImage, &view), {});
        frame.commands = std::move(vk::raii::CommandBuffers(
            device, vk::CommandBufferAllocateInfo(*commands, vk::CommandBufferLevel::ePrimary, 1))[0]);
        frame.done = {device, vk::FenceCreateInfo(vk::FenceCreateFlagBits::eSignaled)};
        frame.stamps = {device, vk::QueryPoolCreateInfo({}, vk::QueryType::eTimestamp, kStamps)};
        // Where the network finds this frame's color, and where it leaves the result.
        program.bind_input(i, 0,
                     vgf::Image{*frame.color.view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                VK_FORMAT_R16G16B16A16_SFLOAT, width, height, vgf::Channels::kFirst});
        program.bind_output(i, 0,
                     vgf::Image{*frame.upscaled.view, VK_IMAGE_LAYOUT_GENERAL, VK_FORMAT_R8G8B8A8_UNORM, 2 * width,
                                2 * height, vgf::Channels::kFirst});
        frames.push_back(std::move(frame));
    }

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
    std::array<double, kStamps - 1> total{};
    const auto finish = [&](Frame& frame) {
        if (device.waitForFences(*frame.done, VK_TRUE, UINT64_MAX) != vk::Result::eSuccess) return;
        if (frame.number < 0) return;
        const auto [result, ticks] = frame.stamps.getResults<uint64_t>(
            0, kStamps, kStamps * sizeof(uint64_t), sizeof(uint64_t), vk::QueryResultFlagBits::e64);
        const double period = physical.getProperties().limits.timestampPeriod * 1e-6;
        for (size_t i = 0; i < total.size(); ++i) {
            total[i] += static_cast<double>(ticks[i + 1] - ticks[i]) * period;
        }
        char name[16];
        std::snprintf(name, sizeof(name), "_%04d.ppm", frame.number);
        std::ofstream picture(out + name, std::ios::binary);
        picture << "P6\n" << 2 * width << " " << 2 * height << "\n255\n";
        for (uint32_t i = 0; i < 4 * width * height; ++i) {
            picture.write(reinterpret_cast<const char*>(frame.mapped + 4 * size_t{i}), 3);
        }
    };
    for (int number = 0; number < count; ++number) {
        const uint32_t index = static_cast<uint32_t>(number) % kFramesInFlight;
        Frame& frame = frames[index];
        finish(frame);  // the one before the last, so that one is always on the device
        device.resetFences(*frame.done);
        frame.number = number;
        const vk::raii::CommandBuffer& recorded = frame.commands;
        const auto stamp = [&](uint32_t at) {
            recorded.writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *frame.stamps, at);
        };
        recorded.begin({});
        recorded.resetQueryPool(*frame.stamps, 0, kStamps);
        stamp(0);
        using Layout = vk::ImageLayout;
        change(recorded, frame.color, Layout::eUndefined, Layout::eGeneral, vgf::kInputs, kDraw);
        recorded.bindPipeline(vk::PipelineBindPoint::eCompute, *scene);
        recorded.bindDescriptorSets(vk::PipelineBindPoint::eCompute, *layout, 0, *frame.set, {});
        recorded.pushConstants<float>(*layout, vk::ShaderStageFlagBits::eCompute, 0, 0.05F * static_cast<float>(number));
        recorded.dispatch((width + 7) / 8, (height + 7) / 8, 1);
        stamp(1);
        change(recorded, frame.color, Layout::eGeneral, Layout::eShaderReadOnlyOptimal, kDraw, vgf::kInputs);
        change(recorded, frame.upscaled, Layout::eUndefined, Layout::eGeneral, kCopy, vgf::kOutputs);
        program.record(*recorded, index);
        stamp(2);
        change(recorded, frame.upscaled, Layout::eGeneral, Layout::eTransferSrcOptimal, vgf::kOutputs, kCopy);
        const vk::BufferImageCopy all(0, 0, 0, {vk::ImageAspectFlagBits::eColor, 0, 0, 1}, {},
                                      {2 * width, 2 * height, 1});
        recorded.copyImageToBuffer(*frame.upscaled.image, Layout::eTransferSrcOptimal, *frame.pixels, all);
        const vk::MemoryBarrier to_host(vk::AccessFlagBits::eTransferWrite, vk::AccessFlagBits::eHostRead);
        recorded.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer, vk::PipelineStageFlagBits::eHost, {}, to_host,
                                 {}, {});
        stamp(3);
        recorded.end();
        queue.submit(vk::SubmitInfo().setCommandBuffers(*recorded), *frame.done);
    }
    for (Frame& frame : frames) finish(frame);
    std::printf("%d frames, ms each: scene %.3f, network %.3f, copy %.3f\n", count, total[0] / count,
                total[1] / count, total[2] / count);
    return 0;
}

int main(int count, char** words) {
    if (count < 3 || std::atoi(words[2]) < 1) {
        std::fputs("usage: vulkan_frame upscale.vgf FRAMES [OUT]\n", stderr);
        return 2;
    }
    try {
        return run(words[1], std::atoi(words[2]), count > 3 ? words[3] : "frame");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
