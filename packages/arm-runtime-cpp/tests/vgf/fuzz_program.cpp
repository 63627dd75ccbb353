// libFuzzer over the reader of VGFs: preset fuzz, target vgf_fuzz.
//
// A last line, between two line feeds, says sizes that the file leaves open.
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgf/graph/sized_graph.hpp"
#include "vgf/parsed_file.hpp"

namespace {

/// The last line of a file, which it takes off.
std::string last_line(const uint8_t* data, size_t& size) {
    if (size < 2 || data[size - 1] != '\n') return {};
    size_t begin = size - 1;
    while (begin > 0 && data[begin - 1] != '\n') --begin;
    if (begin == 0) return {};
    const std::string line(data + begin, data + size - 1);
    size = begin - 1;
    return line;
}

/// The graph of a program whose sizes vary, at the least and the largest.
void vary(const arm_runtime::vgf::ParsedFile& file) {
    if (file.program.symbols.empty()) return;
    arm_runtime::vgf::SizedGraph graph(file);
    std::vector<int64_t> least;
    std::vector<int64_t> most;
    for (const auto& symbol : file.program.symbols) {
        least.push_back(symbol.least);
        most.push_back(symbol.most);
    }
    graph.at(least);
    graph.at(most);
}

/// Reads every byte that the file promises, for the address sanitizer to judge.
uint64_t touch(const arm_runtime::vgf::ParsedFile& file) {
    const auto& program = file.program;
    uint64_t sum = 0;
    const auto add = [&sum](const void* data, uint64_t size) {
        for (uint64_t i = 0; i < size; ++i) sum += static_cast<const uint8_t*>(data)[i];
    };
    for (size_t i = 0; i < program.segments.size(); ++i) {
        const auto& segment = program.segments[i];
        const auto& code = file.code[i];
        add(code.words, code.count * sizeof(uint32_t));
        for (const auto& binding : segment.bindings)
            sum += program.resources[binding.resource].bytes;
        for (size_t c = 0; c < code.constants.size(); ++c) {
            const uint32_t resource = segment.graph()->constants[c].resource;
            add(code.constants[c], program.resources[resource].bytes);
        }
    }
    for (const auto& [resource, data] : file.uploads) add(data, program.resources[resource].bytes);
    for (const auto* ports : {&program.inputs, &program.outputs}) {
        for (const auto& port : *ports) sum += program.resources[port.resource].bytes;
    }
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        const std::string sizes = last_line(data, size);
        const auto file = arm_runtime::vgf::read_file(data, size, sizes);
        volatile uint64_t sum = touch(file);
        (void)sum;
        vary(file);
    } catch (const arm_runtime::vgf::Error&) {
        // What a malformed file is for.
    }
    return 0;
}
