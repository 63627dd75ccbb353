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
    int failures = 0;
    for (int i = 1; i < count; ++i) {
        try {
            const std::vector<char> data = content(files[i]);
            const auto file = arm_runtime::vgf::read_file(data.data(), data.size());
            for (size_t segment = 0; segment < file.program.segments.size(); ++segment) {
                if (!file.program.segments[segment].graph()) continue;
                const size_t operators = read_graph(file, segment).operators.size();
                std::printf("%s: %zu operators\n", files[i], operators);
            }
        } catch (const arm_runtime::vgf::Error& error) {
            std::printf("%s: %s\n", files[i], error.what());
            ++failures;
        }
    }
    return failures == 0 ? 0 : 1;
}
