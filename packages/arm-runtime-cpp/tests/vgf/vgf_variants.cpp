// vgf_variants PROGRAM.vgf INPUT OUTPUT VARIANT WRONG_KERNEL: runs a VGF of one input and one
// output with that variant of every kernel (-1: as tuned) and a kernel whose self-test fails ("":
// none). Prints the engine's reason and the plan.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace vgf = arm_runtime::vgf;

namespace {

std::vector<char> read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

vgf::Argument argument(const vgf::TensorInfo& info, std::vector<char>& data) {
    data.resize(info.bytes);
    return {data.data(), info.type, info.shape.data(), info.shape.size()};
}

}  // namespace

int main(int, char** words) {
    try {
        const std::vector<char> program = read(words[1]);
        vgf::Options options = vgf::options_from_environment();
        options.test.variant = std::atoi(words[4]);
        options.test.wrong_kernel = words[5];
        vgf::Session session(program.data(), program.size(), options);
        std::vector<char> in = read(words[2]);
        std::vector<char> out;
        const vgf::Argument input = argument(session.inputs().at(0), in);
        const vgf::Argument output = argument(session.outputs().at(0), out);
        session.run(&input, 1, &output, 1);
        std::ofstream(words[3], std::ios::binary)
            .write(out.data(), static_cast<std::streamsize>(out.size()));
        std::printf("%s\n%s\n", session.engine_reason().c_str(), session.plan().c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
