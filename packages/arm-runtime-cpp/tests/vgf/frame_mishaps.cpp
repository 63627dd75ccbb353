// Mistakes of an application of vgf_frame, and what befalls it: a lost device, a fork, threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"
#include "vgf_frame.hpp"

namespace {

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

}  // namespace

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
    small.layout = VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL;  // which is taken
    vgf::Image stencil = wrong;
    stencil.format = VK_FORMAT_D24_UNORM_S8_UINT;
    vgf::Image turned = small;
    turned.width = 4;
    turned.height = 3;
    turned.channels = vgf::Channels::kFirst;
    vgf::Image unset = small;
    unset.layout = VK_IMAGE_LAYOUT_UNDEFINED;
    vgf::Image drawn = small;
    drawn.layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    say([&] { program.bind(2, input, *buffer.handle); });
    say([&] { program.bind(0, "nothing", *buffer.handle); });
    say([&] { program.bind(0, input, *buffer.handle, 2); });
    say([&] { program.bind(0, input, VkBuffer(VK_NULL_HANDLE)); });
    say([&] { program.bind(0, input, wrong); });
    say([&] { program.bind(0, input, stencil); });
    say([&] { program.bind(0, input, small); });
    say([&] { program.bind(0, input, turned); });
    say([&] { program.bind(0, input, unset); });
    say([&] { program.bind(0, input, drawn); });
    say([&] { program.resize({{1}, {2}}); });
    say([&] { program.record(VK_NULL_HANDLE, 0); });
    say([&] { vgf::Program(file.data(), file.size(), app.adopted(), {0}); });
    say([&] { vgf::Device::adopt({}); });
    vgf::Adopted old = app.adopted_info();
    old.api_version = 0;
    say([&] { vgf::Device::adopt(old); });
    say([&] { program.bind_output(0, 1, *buffer.handle); });
    say([&] { program.set_push_constants(0, nullptr, 4); });
    std::string other(200, 0);
    other.replace(4, 4, "ET12");
    say([&] { vgf::Program(other.data(), other.size(), app.adopted(), {}); });
    return 0;
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
