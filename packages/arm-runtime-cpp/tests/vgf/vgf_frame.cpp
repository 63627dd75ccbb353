// A program in an application's frames:
//
//     vgf_frame requirements
//     vgf_frame buffers PROGRAM.vgf MASKED FRAMES OFFSET INPUT... OUTPUT...
//     vgf_frame images PROGRAM.vgf FROM TO first|last INPUT OUTPUT [unsynchronized]
//     vgf_frame resize PROGRAM.vgf SHAPE INPUT OUTPUT
//     vgf_frame errors PROGRAM.vgf
//     vgf_frame many PROGRAM.vgf FRAMES
//     vgf_frame c PROGRAM.vgf INPUT OUTPUT
//
// MASKED is a feature that the device is made without, "none", or "all"; or "allocator": memory
// comes from an allocator of the application, as parts of one block. FROM and TO are numbers of
// VkFormats. Files of frames lie one after the other. All frames are submitted before one is waited
// for.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"

namespace {

std::atomic<size_t> allocations{0};  // by operators of this program, which the library is a part of

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // which has operators of its own
// Not inlined: GCC would take malloc and delete for a mistake.
__attribute__((noinline)) void* operator new(size_t size) {
    ++allocations;
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

using Bytes = std::vector<char>;
using Words = std::vector<std::string>;

Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw vgf::Error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

int buffers(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app(words[1]);
    const auto frames = static_cast<uint32_t>(std::stoul(words[2]));
    const size_t offset = std::stoul(words[3]);
    vgf::Program program(file.data(), file.size(), app.adopted(), {frames});
    std::vector<const vgf::TensorInfo*> infos;
    for (const auto* some : {&program.inputs(), &program.outputs()}) {
        for (const vgf::TensorInfo& info : *some) infos.push_back(&info);
    }
    std::vector<std::vector<Application::Buffer>> memory(infos.size());
    for (size_t i = 0; i < infos.size(); ++i) {
        const bool input = i < program.inputs().size();
        const Bytes data = input ? read(words[4 + i]) : Bytes();
        const size_t bytes = infos[i]->bytes;
        for (uint32_t frame = 0; frame < frames; ++frame) {
            const size_t whole = offset + (bytes + 3) / 4 * 4;
            memory[i].push_back(app.buffer(whole));
            std::memset(memory[i].back().mapped, 0x5a, whole);
            if (input) std::memcpy(memory[i].back().mapped + offset, &data[frame * bytes], bytes);
            program.bind(frame, infos[i]->name, *memory[i].back().handle, offset);
        }
    }
    const auto commands = app.commands(frames);
    for (uint32_t frame = 0; frame < frames; ++frame) {
        commands[frame].begin({});
        barrier(commands[frame], kHostWrites, vgf::kInputs);
        barrier(commands[frame], kHostWrites, vgf::kOutputs);
        const auto start = std::chrono::steady_clock::now();
        program.record(*commands[frame], frame);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        barrier(commands[frame], vgf::kOutputs, kHostReads);
        commands[frame].end();
        std::printf("record %.1f us\n", took.count());
    }
    app.submit_and_wait(commands);
    for (size_t i = program.inputs().size(); i < infos.size(); ++i) {
        Bytes all;
        for (const Application::Buffer& buffer : memory[i]) {
            const char* const begin = buffer.mapped + offset;
            all.insert(all.end(), begin, begin + infos[i]->bytes);
            for (size_t at = infos[i]->bytes; at % 4 != 0; ++at) {
                if (begin[at] != 0x5a) throw vgf::Error("a byte behind an output was written");
            }
        }
        write(words[4 + i], all);
    }
    return 0;
}

int images(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), {});
    const bool planar = words[3] == "first";
    const auto picture_of = [&](const vgf::TensorInfo& info, const std::string& format,
                                vk::ImageUsageFlagBits usage) {
        const size_t first = info.shape.size() - 3 + (planar ? 1 : 0);
        const auto height = static_cast<uint32_t>(info.shape[first]);
        const auto width = static_cast<uint32_t>(info.shape[first + 1]);
        const auto kind = static_cast<vk::Format>(std::stoi(format));
        auto made = app.picture(kind, width, height, usage);
        const bool sampled = usage == vk::ImageUsageFlagBits::eSampled;
        program.bind(
            0, info.name,
            vgf::Image{*made.view,
                       sampled ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL,
                       static_cast<VkFormat>(kind), width, height,
                       planar ? vgf::Channels::kFirst : vgf::Channels::kLast});
        return std::make_pair(std::move(made),
                              vk::BufferImageCopy()
                                  .setImageSubresource({vk::ImageAspectFlagBits::eColor, 0, 0, 1})
                                  .setImageExtent({width, height, 1}));
    };
    const auto from = picture_of(program.inputs()[0], words[1], vk::ImageUsageFlagBits::eSampled);
    const auto to = picture_of(program.outputs()[0], words[2], vk::ImageUsageFlagBits::eStorage);
    const Bytes texels = read(words[4]);
    const auto given = app.buffer(texels.size());
    std::memcpy(given.mapped, texels.data(), texels.size());
    const auto taken = app.buffer(texels.size() * 4);
    using Layout = vk::ImageLayout;
    const auto recorded = app.commands(1);
    const vk::raii::CommandBuffer& commands = recorded[0];
    commands.begin({});
    change_layout(commands, *from.first.handle, Layout::eUndefined, Layout::eTransferDstOptimal,
                  kNothing, kCopyWrites);
    commands.copyBufferToImage(*given.handle, *from.first.handle, Layout::eTransferDstOptimal,
                               from.second);
    change_layout(commands, *from.first.handle, Layout::eTransferDstOptimal,
                  Layout::eShaderReadOnlyOptimal, kCopyWrites, vgf::kInputs);
    change_layout(commands, *to.first.handle, Layout::eUndefined, Layout::eGeneral, kNothing,
                  vgf::kOutputs);
    program.record(*commands, 0);
    change_layout(commands, *to.first.handle, Layout::eGeneral, Layout::eTransferSrcOptimal,
                  words.size() > 6 ? kNothing : vgf::kOutputs, kCopyReads);
    commands.copyImageToBuffer(*to.first.handle, Layout::eTransferSrcOptimal, *taken.handle,
                               to.second);
    barrier(commands, kCopyWrites, kHostReads);
    commands.end();
    app.submit_and_wait(recorded);
    write(words[5], Bytes(taken.mapped, taken.mapped + texels.size() * 4));
    return 0;
}

int resize(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), {});
    std::vector<int64_t> shape;
    std::istringstream text(words[1]);
    for (int64_t size = 0; text >> size;) shape.push_back(size);
    program.resize({shape});
    const Bytes data = read(words[2]);
    const auto from = app.buffer(data.size());
    std::memcpy(from.mapped, data.data(), data.size());
    size_t bytes = arm_runtime::vgf::size_of(program.outputs()[0].type);
    for (const int64_t size : program.output_shapes()[0]) bytes *= static_cast<size_t>(size);
    const auto to = app.buffer(bytes);
    program.bind(1, program.inputs()[0].name, *from.handle);
    program.bind(1, program.outputs()[0].name, *to.handle);
    const auto recorded = app.commands(1);
    recorded[0].begin({});
    barrier(recorded[0], kHostWrites, vgf::kInputs);
    program.record(*recorded[0], 1);
    barrier(recorded[0], vgf::kOutputs, kHostReads);
    recorded[0].end();
    app.submit_and_wait(recorded);
    write(words[3], Bytes(to.mapped, to.mapped + bytes));
    return 0;
}

template <typename Wrong>
void say(Wrong wrong) {
    try {
        wrong();
        std::puts("no error");
    } catch (const vgf::Error& error) {
        std::puts(error.what());
    }
}

int errors(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), {});
    const auto buffer = app.buffer(64);
    const std::string& input = program.inputs()[0].name;
    const vgf::Image wrong{reinterpret_cast<VkImageView>(1), VK_IMAGE_LAYOUT_GENERAL,
                           VK_FORMAT_R8_UINT, 2, 2};
    vgf::Image small = wrong;
    small.format = VK_FORMAT_R32_SFLOAT;
    say([&] { program.bind(2, input, *buffer.handle); });
    say([&] { program.bind(0, "nothing", *buffer.handle); });
    say([&] { program.bind(0, input, *buffer.handle, 2); });
    say([&] { program.bind(0, input, VkBuffer(VK_NULL_HANDLE)); });
    say([&] { program.bind(0, input, wrong); });
    say([&] { program.bind(0, input, small); });
    say([&] { program.resize({{1}, {2}}); });
    say([&] { program.record(VK_NULL_HANDLE, 0); });
    say([&] { vgf::Program(file.data(), file.size(), app.adopted(), {0}); });
    say([&] { vgf::Device::adopt({}); });
    return 0;
}

/// Frames on end, with a command buffer that is recorded anew for each: what recording takes, and
/// how much memory there is in use after each quarter.
int many(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), {1});
    std::vector<Application::Buffer> memory;
    for (const auto* some : {&program.inputs(), &program.outputs()}) {
        for (const vgf::TensorInfo& info : *some) {
            memory.push_back(app.buffer((info.bytes + 3) / 4 * 4));
            program.bind(0, info.name, *memory.back().handle);
        }
    }
    const auto recorded = app.commands(1);
    const int frames = std::stoi(words[1]);
    std::vector<double> times;
    times.reserve(static_cast<size_t>(frames));
    size_t most = 0;
    for (int frame = 0; frame < frames; ++frame) {
        recorded[0].begin({});
        const size_t before = allocations;
        const auto start = std::chrono::steady_clock::now();
        program.record(*recorded[0], 0);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        if (frame > 0) most = std::max(most, allocations - before);
        times.push_back(took.count());
        recorded[0].end();
        app.submit_and_wait(recorded);
        if ((frame + 1) % (frames / 4) == 0) std::printf("in use %zu\n", mallinfo2().uordblks);
    }
    std::sort(times.begin(), times.end());
    std::printf("record %.1f us\nallocations %zu\n", times[times.size() / 2], most);
    return 0;
}

/// A frame by the C interface, and what it says of mistakes.
int by_c(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    const auto fails = [](bool failed) {
        if (failed) throw vgf::Error(arm_vgf_last_error());
    };
    size_t count = 0;
    arm_vgf_feature feature{};
    feature.size = sizeof(feature);
    fails(arm_vgf_get_feature(*app.instance(), *app.physical(), loader(), VK_API_VERSION_1_3, 0,
                              &feature, &count) != 0);
    std::printf("%s of %zu\n", feature.name, count);
    arm_vgf_adopt_info info = app.adopt_info();
    arm_vgf_adopted* const device = arm_vgf_adopt(&info);
    fails(device == nullptr);
    arm_vgf_program* const program =
        arm_vgf_program_open(file.data(), file.size(), device, nullptr);
    fails(program == nullptr);
    arm_vgf_tensor input{};
    arm_vgf_tensor output{};
    input.size = output.size = sizeof(input);
    fails(arm_vgf_program_get_tensor(program, 0, 0, &input) != 0);
    fails(arm_vgf_program_get_tensor(program, 1, 0, &output) != 0);
    const Bytes data = read(words[1]);
    const auto from = app.buffer(data.size());
    const auto to = app.buffer(output.bytes);
    std::memcpy(from.mapped, data.data(), data.size());
    fails(arm_vgf_program_bind_buffer(program, 1, input.name, *from.handle, 0) != 0);
    const auto recorded = app.commands(1);
    recorded[0].begin({});
    barrier(recorded[0], kHostWrites, vgf::kInputs);
    const auto say = [](int status) { std::printf("%d %s\n", status, arm_vgf_last_error()); };
    say(arm_vgf_program_record(program, *recorded[0], 1));
    say(arm_vgf_program_record(nullptr, *recorded[0], 1));
    say(arm_vgf_program_bind_buffer(program, 1, nullptr, *to.handle, 0));
    arm_vgf_image image{};
    image.size = sizeof(image);
    say(arm_vgf_program_bind_image(program, 1, output.name, &image));
    info.device = nullptr;
    say(arm_vgf_adopt(&info) == nullptr ? -1 : 0);
    say(arm_vgf_program_open(nullptr, 0, device, nullptr) == nullptr ? -1 : 0);
    fails(arm_vgf_program_bind_buffer(program, 1, output.name, *to.handle, 0) != 0);
    fails(arm_vgf_program_record(program, *recorded[0], 1) != 0);
    barrier(recorded[0], vgf::kOutputs, kHostReads);
    recorded[0].end();
    app.submit_and_wait(recorded);
    write(words[2], Bytes(to.mapped, to.mapped + output.bytes));
    arm_vgf_program_close(program);
    arm_vgf_adopted_close(device);
    return 0;
}

int requirements() {
    const Application app("none");
    for (const vgf::Feature& feature : app.requirements().features) {
        std::printf("%s %s %s\n", feature.need == vgf::Need::kShould ? "should" : "may",
                    feature.name, feature.purpose);
    }
    std::puts(app.adopted().description().c_str());
    return 0;
}

}  // namespace

int main(int count, char** given) {
    const Words words(given + 1, given + count);
    try {
        if (words[0] == "requirements") return requirements();
        const Words rest(words.begin() + 1, words.end());
        if (words[0] == "buffers") return buffers(rest);
        if (words[0] == "images") return images(rest);
        if (words[0] == "resize") return resize(rest);
        if (words[0] == "errors") return errors(rest);
        if (words[0] == "many") return many(rest);
        if (words[0] == "c") return by_c(rest);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 2;
}
