// vgf_read_graphs FILE...: reads the graphs of VGFs, and prints how many operators each has or what
// is wrong with it.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "vgf/graph/graph.hpp"

namespace {

std::vector<char> content(const char* file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** files) {
    using arm_runtime::vgf::Segment;
    int failures = 0;
    for (int i = 1; i < count; ++i) {
        try {
            const std::vector<char> data = content(files[i]);
            const auto program = arm_runtime::vgf::read_program(data.data(), data.size());
            for (const Segment& segment : program.segments) {
                if (!segment.graph) continue;
                const auto graph = read_graph(program, segment, "segment '" + segment.name + "'");
                std::printf("%s: %zu operators\n", files[i], graph.operators.size());
            }
        } catch (const arm_runtime::vgf::Error& error) {
            std::printf("%s: %s\n", files[i], error.what());
            ++failures;
        }
    }
    return failures == 0 ? 0 : 1;
}
