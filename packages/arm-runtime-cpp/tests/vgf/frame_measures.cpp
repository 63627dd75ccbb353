// What frames take: time and memory of vgf_frame's program.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"
#include "vgf_frame.hpp"

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

namespace {

double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/// What a process holds, in bytes: memory that is not swapped out, and the library's on the device.
struct Held {
    double process = 0;
    double device = 0;

    static Held now() {
        size_t whole = 0;
        size_t resident = 0;  // pages
        std::ifstream("/proc/self/statm") >> whole >> resident;
        return {static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)),
                static_cast<double>(stand_in::bytes_held())};
    }
};

}  // namespace

/// What frames of a program take whose tensors lie on the device, some of them in flight, as JSON:
/// the host's time to record one and to wait for the oldest, the device's own, and how much memory
/// is held after a tenth of the frames and at the end.
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
    // All memory that they will take is held from the first frame on.
    for (auto* times : {&recording, &waiting, &running}) {
        times->resize(frames);
        times->clear();
    }
    Held early;
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
        if (frame == frames / 10 + slots) early = Held::now();
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
    const Held late = Held::now();
    const vgf::MemoryUse& use = program.memory();
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf(
        "{\"record_us\": %.2f, \"wait_us\": %.2f, \"device_ms\": %.4f, \"frame_ms\": %.4f, "
        "\"work_mib\": %.4f, \"constants_mib\": %.4f, \"process_mib\": %.4f, "
        "\"process_grown_mib\": %.4f, \"held_mib\": %.4f, \"held_grown_mib\": %.4f}\n",
        median(recording), median(waiting), median(running),
        all / 1e3 / static_cast<double>(frames), mib(use.work), mib(use.constants),
        late.process / (1 << 20), (late.process - early.process) / (1 << 20),
        late.device / (1 << 20), (late.device - early.device) / (1 << 20));
    return 0;
}
