// A program in an application's frames:
//
//     vgf_frame requirements
//     vgf_frame buffers PROGRAM.vgf MASKED FRAMES OFFSET INPUT... OUTPUT...
//     vgf_frame images PROGRAM.vgf FROM TO first|last INPUT OUTPUT [unsynchronized] [masked=MASKED]
//     vgf_frame states PROGRAM.vgf OUT-NAME IN-NAME FRAMES RESTART INPUT OUTPUT STATE [INITIAL]
//     vgf_frame resize PROGRAM.vgf SHAPE INPUT OUTPUT
//     vgf_frame errors PROGRAM.vgf
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
#include "vgf_frame.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "application.hpp"
#include "arm_vgf/vgf.hpp"

namespace {

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
