// A program in an application's frames:
//
//     vgf_frame requirements
//     vgf_frame buffers PROGRAM.vgf MASKED FRAMES OFFSET INPUT... OUTPUT...
//     vgf_frame images PROGRAM.vgf FROM TO first|last INPUT OUTPUT [unsynchronized] [masked=MASKED]
//     vgf_frame states PROGRAM.vgf OUTPUT-NAME INPUT-NAME FRAMES RESTART INPUT OUTPUT STATE
//     [INITIAL] vgf_frame resize PROGRAM.vgf SHAPE INPUT OUTPUT vgf_frame errors PROGRAM.vgf
//     vgf_frame many PROGRAM.vgf FRAMES [no-commands]
//     vgf_frame times PROGRAM.vgf FRAMES IN-FLIGHT
//     vgf_frame lost|forked|threads PROGRAM.vgf INPUT OUTPUT
//     vgf_frame c PROGRAM.vgf INPUT OUTPUT
//
// "replay" behind all words: ProgramOptions::replay. MASKED is a feature that the device is made
// without, "none", or "all"; "allocator": memory comes from an allocator of the application, as
// parts of one block; or how constants get into memory that the host does not see: "staged",
// "queue" (a second one), "recorded". "labels": the instance has VK_EXT_debug_utils. FROM and TO
// are numbers of VkFormats. Files of frames lie one after the other. All frames are submitted
// before one is waited for.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"

namespace {

std::atomic<size_t> allocations{0};  // by operators of this program, which the library is a part of

}  // namespace

// Sanitizers have operators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
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

template <typename Wrong>
void say(Wrong wrong) {
    try {
        wrong();
        std::puts("no error");
    } catch (const vgf::Error& error) {
        std::puts(error.what());
    }
}

int buffers(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app(words[1]);
    const auto frames = static_cast<uint32_t>(std::stoul(words[2]));
    const size_t offset = std::stoul(words[3]);
    const vgf::MemoryUse needed =
        vgf::Program::memory_needed(file.data(), file.size(), app.adopted(), app.options(frames));
    vgf::Program program(file.data(), file.size(), app.adopted(), app.options(frames));
    if (std::memcmp(&needed, &program.memory(), sizeof(needed)) != 0) {
        throw vgf::Error("the program needs other memory than it has");
    }
    std::printf("submitted %d, to the second queue %d\n", stand_in::submissions.load(),
                stand_in::on_second.load());
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
    auto commands = app.commands(frames);
    std::vector<vk::raii::CommandBuffer> all_commands;
    if (program.needs_upload()) {
        say([&] { program.record(*commands[0], 0); });
        say([&] { program.end_upload(); });
        all_commands = app.commands(1);
        all_commands[0].begin({});
        program.record_upload(*all_commands[0]);
        all_commands[0].end();
    }
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
    if (words[1] == "labels") {
        std::printf("%d named, %d open, %s\n", stand_in::named, stand_in::open_labels,
                    stand_in::labels.c_str());
    } else if (stand_in::named != 0 || !stand_in::labels.empty()) {
        throw vgf::Error("labels without the extension");
    }
    for (auto& one : commands) all_commands.push_back(std::move(one));
    app.submit_and_wait(all_commands);
    program.end_upload();
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

int images(const Words& given_words) {
    Words words = given_words;
    std::string masked = "none";
    if (words.back().rfind("masked=", 0) == 0) {
        masked = words.back().substr(7);
        words.pop_back();
    }
    const Bytes file = read(words[0]);
    const Application app(masked);
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
        return std::make_pair(std::move(made), vk::BufferImageCopy()
                                                   .setImageSubresource({aspect_of(kind), 0, 0, 1})
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
                  kNothing, kCopyWrites, from.second.imageSubresource.aspectMask);
    commands.copyBufferToImage(*given.handle, *from.first.handle, Layout::eTransferDstOptimal,
                               from.second);
    change_layout(commands, *from.first.handle, Layout::eTransferDstOptimal,
                  Layout::eShaderReadOnlyOptimal, kCopyWrites, vgf::kInputs,
                  from.second.imageSubresource.aspectMask);
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

/// Frames in which one output is an input of the next one. From frame RESTART on they start again;
/// an INITIAL file is what states start with. The state of the last frame is written, too.
int states(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::ProgramOptions options;
    options.frames_in_flight = static_cast<uint32_t>(std::stoul(words[3]));
    options.states = {{words[1], words[2]}};
    options.replay = replays;
    const vgf::MemoryUse needed =
        vgf::Program::memory_needed(file.data(), file.size(), app.adopted(), options);
    vgf::Program program(file.data(), file.size(), app.adopted(), options);
    if (needed.work != program.memory().work || needed.outputs != program.memory().outputs) {
        throw vgf::Error("the program needs other memory than it has");
    }
    const Bytes given = read(words[5]);
    const size_t bytes = given.size() / options.frames_in_flight;
    const bool has_initial = words.size() > 8;
    const auto initial = app.buffer(bytes);
    if (has_initial) std::memcpy(initial.mapped, read(words[8]).data(), bytes);
    std::vector<Application::Buffer> memory;
    const auto commands = app.commands(options.frames_in_flight);
    const auto buffer = [&]() -> const Application::Buffer& {
        memory.push_back(app.buffer(bytes));
        return memory.back();
    };
    const auto bind = [&](uint32_t frame, bool outputs) {
        const auto& infos = outputs ? program.outputs() : program.inputs();
        for (size_t i = 0; i < infos.size(); ++i) {
            const bool state = infos[i].name == (outputs ? words[1] : words[2]);
            if (state && (outputs ? frame + 1 != options.frames_in_flight : !has_initial)) continue;
            const Application::Buffer& place = state && !outputs ? initial : buffer();
            if (!outputs && !state) std::memcpy(place.mapped, &given[frame * bytes], bytes);
            outputs ? program.bind_output(frame, i, *place.handle)
                    : program.bind_input(frame, i, *place.handle);
        }
    };
    for (uint32_t frame = 0; frame < options.frames_in_flight; ++frame) {
        bind(frame, false);
        bind(frame, true);
        if (std::to_string(frame) == words[4]) program.restart();
        commands[frame].begin({});
        barrier(commands[frame], kHostWrites, vgf::kInputs);
        program.record(*commands[frame], frame);
        barrier(commands[frame], vgf::kOutputs, kHostReads);
        commands[frame].end();
    }
    app.submit_and_wait(commands);
    // Of each frame its input, then its outputs, of which the state is bound in the last one.
    Bytes results;
    size_t at = 0;
    for (uint32_t frame = 0; frame < options.frames_in_flight; ++frame) {
        at += 1;
        results.insert(results.end(), memory[at].mapped, memory[at].mapped + bytes);
        at += 1;
    }
    write(words[6], results);
    write(words[7], Bytes(memory[at].mapped, memory[at].mapped + bytes));
    return 0;
}

int resize(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), app.options(2));
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
    vgf::Adopted old = app.adopted_info();
    old.api_version = 0;
    say([&] { vgf::Device::adopt(old); });
    say([&] { program.bind_output(0, 1, *buffer.handle); });
    return 0;
}

/// A frame with one input and one output, in buffers of an application.
Bytes run_once(const Application& app, vgf::Program& program, const Bytes& data,
               std::mutex* queue = nullptr) {
    const auto from = app.buffer(data.size());
    std::memcpy(from.mapped, data.data(), data.size());
    const auto to = app.buffer((program.outputs()[0].bytes + 3) / 4 * 4);
    program.bind_input(0, 0, *from.handle);
    program.bind_output(0, 0, *to.handle);
    const auto pool = app.pool();
    const auto recorded = app.commands(1, *pool);
    recorded[0].begin({});
    barrier(recorded[0], kHostWrites, vgf::kInputs);
    program.record(*recorded[0], 0);
    barrier(recorded[0], vgf::kOutputs, kHostReads);
    recorded[0].end();
    std::mutex alone;
    const std::lock_guard<std::mutex> lock(queue != nullptr ? *queue : alone);
    app.submit_and_wait(recorded);
    return {to.mapped, to.mapped + program.outputs()[0].bytes};
}

/// A device that is lost in each call that may lose it, and another in its place.
int lost(const Words& words) {
    const Bytes file = read(words[0]);
    for (const char* call : {"vkCreateComputePipelines", "vkQueueSubmit", "vkWaitForFences"}) {
        const Application app("staged");
        stand_in::lost = call;
        try {
            const vgf::Program program(file.data(), file.size(), app.adopted(), {});
            std::puts("no error");
        } catch (const vgf::Error& error) {
            std::printf("%d %d %s\n", error.is_device_lost() ? 1 : 0, error.vulkan_result(),
                        error.what());
        }
        arm_vgf_adopt_info info = app.adopt_info();
        arm_vgf_adopted* const device = arm_vgf_adopt(&info);
        const bool opened =
            arm_vgf_program_open(file.data(), file.size(), device, nullptr) != nullptr;
        std::printf("%d %d\n", opened ? 1 : 0, arm_vgf_last_result());
        arm_vgf_adopted_close(device);
        arm_vgf_adopt(nullptr);
        std::printf("%d\n", arm_vgf_last_result());
        stand_in::lost = "";
    }
    const Application app("staged");
    vgf::Program program(file.data(), file.size(), app.adopted(), {});
    write(words[2], run_once(app, program, read(words[1])));
    return 0;
}

/// A child of this process destroys what the parent has, which then goes on.
int forked(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("none");
    auto program = std::make_unique<vgf::Program>(file.data(), file.size(), app.adopted(),
                                                  vgf::ProgramOptions{});
    auto device = std::make_unique<vgf::Device>(vgf::Device::adopt(app.adopted_info()));
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        program.reset();
        device.reset();
        std::printf("destroyed %d\n", stand_in::destroyed.load());
        std::fflush(stdout);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    write(words[2], run_once(app, *program, read(words[1])));
    program.reset();
    device.reset();
    std::puts(stand_in::destroyed != 0 ? "destroyed" : "kept");
    return 0;
}

/// Threads that load, bind and record programs of one device; the application's queue is one.
int threads(const Words& words) {
    const Bytes file = read(words[0]);
    const Application app("staged");
    const Bytes data = read(words[1]);
    std::vector<std::string> wrong(8);
    std::vector<std::thread> running;
    std::mutex queue;
    const Bytes wanted = [&] {
        vgf::Program program(file.data(), file.size(), app.adopted(), {});
        return run_once(app, program, data);
    }();
    for (std::string& text : wrong) {
        running.emplace_back([&] {
            try {
                for (int round = 0; round < 3; ++round) {
                    std::unique_ptr<vgf::Program> program;
                    {
                        // What loading submits, nobody else submits meanwhile.
                        const std::lock_guard<std::mutex> lock(queue);
                        program = std::make_unique<vgf::Program>(
                            file.data(), file.size(), app.adopted(), vgf::ProgramOptions{});
                    }
                    if (run_once(app, *program, data, &queue) != wanted) text = "other bits";
                }
            } catch (const std::exception& error) {
                text = error.what();
            }
        });
    }
    for (std::thread& one : running) one.join();
    for (const std::string& text : wrong) {
        if (!text.empty()) throw vgf::Error(text);
    }
    write(words[2], wanted);
    return 0;
}

/// Frames on end, with a command buffer that is recorded anew for each: what recording takes, and
/// how much memory there is in use after each quarter.
int many(const Words& words) {
    const Bytes file = read(words[0]);
    // Without commands, what a recording takes is the library's alone.
    stand_in::no_commands = words.size() > 2;
    const Application app("none");
    vgf::Program program(file.data(), file.size(), app.adopted(), app.options(1));
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

double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/// What frames of a program take whose tensors lie on the device, some of them in flight, as JSON:
/// the host's time to record one and to wait for the oldest, and the device's own.
int frame_times(const Words& words) {
    using Clock = std::chrono::steady_clock;
    using Micros = std::chrono::duration<double, std::micro>;
    const Bytes file = read(words[0]);
    const Application app("none");
    const auto frames = static_cast<size_t>(std::stoul(words[1]));
    const auto slots = static_cast<uint32_t>(std::stoul(words[2]));
    vgf::Program program(file.data(), file.size(), app.adopted(), app.options(slots));
    std::vector<Application::Buffer> memory;
    for (const auto* some : {&program.inputs(), &program.outputs()}) {
        for (const vgf::TensorInfo& info : *some) {
            memory.push_back(app.device_buffer((info.bytes + 3) / 4 * 4));
            for (uint32_t slot = 0; slot < slots; ++slot) {
                program.bind(slot, info.name, *memory.back().handle);
            }
        }
    }
    const auto commands = app.commands(slots);
    const auto fences = app.signalled_fences(slots);
    const auto stamps = app.timestamps(2 * slots);
    std::vector<double> recording;
    std::vector<double> waiting;
    std::vector<double> running;
    const auto begin = Clock::now();
    for (size_t frame = 0; frame < frames + slots; ++frame) {
        const auto slot = static_cast<uint32_t>(frame % slots);
        const vk::raii::CommandBuffer& recorded = commands[slot];
        const auto start = Clock::now();
        app.wait_and_reset(fences[slot]);
        const auto waited = Clock::now();
        if (frame >= slots) {
            const auto [status, ticks] = stamps.getResults<uint64_t>(
                2 * slot, 2, 2 * sizeof(uint64_t), sizeof(uint64_t),
                vk::QueryResultFlagBits::e64 | vk::QueryResultFlagBits::eWait);
            running.push_back(static_cast<double>(ticks[1] - ticks[0]) *
                              app.physical().getProperties().limits.timestampPeriod / 1e6);
            waiting.push_back(Micros(waited - start).count());
            recording.push_back(0);
        }
        if (frame >= frames) continue;
        recorded.begin({});
        recorded.resetQueryPool(*stamps, 2 * slot, 2);
        barrier(recorded, vgf::kOutputs, vgf::kInputs);  // of the frame before
        barrier(recorded, vgf::kOutputs, vgf::kOutputs);
        recorded.writeTimestamp(vk::PipelineStageFlagBits::eTopOfPipe, *stamps, 2 * slot);
        const auto asked = Clock::now();
        program.record(*recorded, slot);
        const Micros took = Clock::now() - asked;
        if (!recording.empty()) recording.back() = took.count();
        recorded.writeTimestamp(vk::PipelineStageFlagBits::eBottomOfPipe, *stamps, 2 * slot + 1);
        recorded.end();
        app.submit(recorded, fences[slot]);
    }
    const double all = Micros(Clock::now() - begin).count();
    recording.resize(recording.size() - std::min<size_t>(recording.size() - 1, slots));
    const vgf::MemoryUse& use = program.memory();
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf(
        "{\"record_us\": %.2f, \"wait_us\": %.2f, \"device_ms\": %.4f, \"frame_ms\": %.4f, "
        "\"work_mib\": %.4f, \"constants_mib\": %.4f}\n",
        median(recording), median(waiting), median(running),
        all / 1e3 / static_cast<double>(frames), mib(use.work), mib(use.constants));
    return 0;
}

/// An allocator in C: parts of one block.
struct Block {
    Application::Buffer buffer;
    size_t used = 0;
    int parts = 0;
    int freed = 0;

    static VkResult allocate(void* user, const VkMemoryRequirements* needs, VkMemoryPropertyFlags,
                             VkMemoryPropertyFlags, arm_vgf_allocation* made) {
        auto& self = *static_cast<Block*>(user);
        const size_t begin = (self.used + needs->alignment) / needs->alignment * needs->alignment;
        self.used = begin + needs->size;
        ++self.parts;
        *made = {*self.buffer.memory, begin, self.buffer.mapped + begin, user};
        return VK_SUCCESS;
    }
    static void free(void* user, const arm_vgf_allocation* made) {
        if (made->own == user) ++static_cast<Block*>(user)->freed;
    }
};

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
    vk::PhysicalDeviceFeatures2 base;
    const std::vector<int32_t> first{1};
    size_t extensions = 0;
    fails(arm_vgf_enable(*app.instance(), *app.physical(), loader(), VK_API_VERSION_1_3,
                         first.data(), first.size(), &base, nullptr, &extensions) != 0);
    if (!base.features.robustBufferAccess || extensions != 0) throw vgf::Error("not enabled");
    Block block{app.buffer(size_t{1} << 20)};
    arm_vgf_adopt_info info = app.adopt_info();
    info.allocator = &block;
    info.allocate = Block::allocate;
    info.free = Block::free;
    arm_vgf_adopted* const device = arm_vgf_adopt(&info);
    fails(device == nullptr);
    arm_vgf_program* const program =
        arm_vgf_program_open(file.data(), file.size(), device, nullptr);
    fails(program == nullptr);
    arm_vgf_memory needed{};
    arm_vgf_memory memory{};
    needed.size = memory.size = sizeof(memory);
    fails(arm_vgf_memory_needed(file.data(), file.size(), device, nullptr, &needed) != 0);
    fails(arm_vgf_program_get_memory(program, &memory) != 0);
    if (std::memcmp(&needed, &memory, sizeof(memory)) != 0 || memory.outputs == 0) {
        throw vgf::Error("other memory is needed");
    }
    arm_vgf_tensor input{};
    arm_vgf_tensor output{};
    input.size = output.size = sizeof(input);
    fails(arm_vgf_program_get_tensor(program, 0, 0, &input) != 0);
    fails(arm_vgf_program_get_tensor(program, 1, 0, &output) != 0);
    const Bytes data = read(words[1]);
    const auto from = app.buffer(data.size());
    const auto to = app.buffer(output.bytes);
    std::memcpy(from.mapped, data.data(), data.size());
    const int64_t* shape = nullptr;
    size_t rank = 0;
    fails(arm_vgf_program_resize(program, &input.shape, &input.rank, 1) != 0);
    fails(arm_vgf_program_get_output_shape(program, 0, &shape, &rank) != 0);
    if (rank != output.rank || shape[0] != output.shape[0]) throw vgf::Error("another shape");
    fails(arm_vgf_program_needs_upload(program) != 0 || arm_vgf_program_restart(program) != 0);
    fails(arm_vgf_program_bind_buffer_at(program, 1, 0, 0, *from.handle, 0) != 0);
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
    say(arm_vgf_program_bind_image_at(program, 0, 1, 1, &image));
    arm_vgf_symbol symbol{};
    symbol.size = sizeof(symbol);
    say(arm_vgf_program_get_symbol(program, 0, &symbol));
    arm_vgf_program_options wrong{};
    wrong.size = sizeof(wrong);
    const char* const state[] = {output.name, "nothing"};
    wrong.states = state;
    wrong.state_count = 1;
    say(arm_vgf_program_open(file.data(), file.size(), device, &wrong) == nullptr ? -1 : 0);
    fails(arm_vgf_program_bind_buffer(program, 1, output.name, *to.handle, 0) != 0);
    fails(arm_vgf_program_record(program, *recorded[0], 1) != 0);
    barrier(recorded[0], vgf::kOutputs, kHostReads);
    recorded[0].end();
    app.submit_and_wait(recorded);
    write(words[2], Bytes(to.mapped, to.mapped + output.bytes));
    std::puts(arm_vgf_adopted_description(device));
    arm_vgf_adopted_close(device);
    arm_vgf_program_close(program);
    std::puts(block.parts != 0 && block.parts == block.freed ? "all freed" : "not freed");
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
    Words words(given + 1, given + count);
    try {
        if (words.back() == "replay") {
            replays = true;
            words.pop_back();
        }
        if (words[0] == "requirements") return requirements();
        const Words rest(words.begin() + 1, words.end());
        if (words[0] == "buffers") return buffers(rest);
        if (words[0] == "images") return images(rest);
        if (words[0] == "states") return states(rest);
        if (words[0] == "resize") return resize(rest);
        if (words[0] == "errors") return errors(rest);
        if (words[0] == "many") return many(rest);
        if (words[0] == "times") return frame_times(rest);
        if (words[0] == "lost") return lost(rest);
        if (words[0] == "forked") return forked(rest);
        if (words[0] == "threads") return threads(rest);
        if (words[0] == "c") return by_c(rest);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 2;
}
