// A frame of vgf_frame by the interface in C.
#include <cstdio>
#include <cstring>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"
#include "vgf_frame.hpp"

namespace {

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

}  // namespace

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
