// Runs a VGF on raw files: vgf_play PROGRAM.vgf REPEAT INPUT... OUTPUT...
// Prints the load's and each run's time in ms, the device's share, and the memory that it takes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace vgf = arm_runtime::vgf;

namespace {

std::vector<char> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw vgf::Error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

double milliseconds(uint64_t begin, uint64_t end) { return static_cast<double>(end - begin) / 1e6; }

int play(const std::vector<std::string>& words) {
    const std::vector<char> program = read(words[0]);
    const int repeat = std::atoi(words[1].c_str());
    const auto start = std::chrono::steady_clock::now();
    vgf::Session session(program.data(), program.size(), vgf::options_from_environment());
    const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - start;
    const auto& use = session.memory();
    std::printf("device %s\nload %.3f\nmemory %llu %llu %llu saved %llu\n",
                session.device().c_str(), load.count(), static_cast<unsigned long long>(use.inputs),
                static_cast<unsigned long long>(use.outputs),
                static_cast<unsigned long long>(use.work),
                static_cast<unsigned long long>(use.saved));
    const size_t ports = session.inputs().size() + session.outputs().size();
    if (words.size() != 2 + ports) throw vgf::Error("expected " + std::to_string(ports) + " files");
    std::vector<std::vector<char>> files;
    std::vector<vgf::Argument> inputs;
    std::vector<vgf::Argument> outputs;
    for (const auto* infos : {&session.inputs(), &session.outputs()}) {
        const bool input = infos == &session.inputs();
        for (const vgf::TensorInfo& info : *infos) {
            files.push_back(input ? read(words[2 + files.size()]) : std::vector<char>(info.bytes));
            if (files.back().size() != info.bytes)
                throw vgf::Error(info.name + ": wrong file size");
            (input ? inputs : outputs)
                .push_back({files.back().data(), info.type, info.shape.data(), info.shape.size()});
        }
    }
    for (int i = 0; i < repeat; ++i) {
        std::vector<vgf::Event> events;
        session.run(inputs.data(), inputs.size(), outputs.data(), outputs.size(), &events);
        double device = 0;
        for (const vgf::Event& e : events) device += e.on_device ? milliseconds(e.begin, e.end) : 0;
        std::printf("run %.3f device %.3f\n", milliseconds(events[0].begin, events[2].end), device);
    }
    for (size_t i = session.inputs().size(); i < files.size(); ++i) {
        std::ofstream(words[2 + i], std::ios::binary)
            .write(files[i].data(), static_cast<std::streamsize>(files[i].size()));
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::fputs("usage: vgf_play PROGRAM.vgf REPEAT INPUT... OUTPUT...\n", stderr);
        return 2;
    }
    try {
        return play({words + 1, words + count});
    } catch (const vgf::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
