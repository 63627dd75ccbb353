// run_network PAYLOAD INPUTS OUTPUTS: runs a payload of one input and one output on each input.
// Prints errors, then how often the fake was called. Exit status 0, 1 if the driver reported an
// error, 3 if it broke a rule of what is faked.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "fake.hpp"
#include "network.hpp"

namespace {

using namespace arm_runtime::ethosu;

std::vector<char> read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void report(const char* text) { std::printf("error: %s\n", text); }

void* take(void* context, size_t size, size_t alignment) {
    auto& memory = *static_cast<std::vector<std::unique_ptr<char, void (*)(void*)>>*>(context);
    const size_t whole = (size + alignment - 1) / alignment * alignment;
    memory.emplace_back(static_cast<char*>(std::aligned_alloc(alignment, whole)), std::free);
    return memory.back().get();
}

struct End {
    void operator()(Network* network) const { network->~Network(); }
};

bool run(const Payload& payload, const std::vector<char>& inputs, std::ofstream& outputs) {
    std::vector<std::unique_ptr<char, void (*)(void*)>> memory;
    const std::unique_ptr<Network, End> network(open_network(payload, {take, &memory}, report));
    if (network == nullptr) return false;
    auto* temporary =
        static_cast<uint8_t*>(take(&memory, network->temporary_size() + 1, kMemoryAlignment));
    const Slot in = payload.inputs[0], out = payload.outputs[0];
    for (size_t at = 0; at + in.size <= inputs.size(); at += in.size) {
        uint8_t* scratch = network->scratch(temporary, report);
        std::memcpy(scratch + in.offset, inputs.data() + at, in.size);
        if (!network->run(temporary, report)) {
            // A job that did not end may still read and write: nobody may write inputs there again.
            if (fake::fails("wait") && network->scratch(temporary, report) != nullptr)
                std::printf("error: takes inputs beside a job\n");
            return false;
        }
        outputs.write(reinterpret_cast<const char*>(scratch) + out.offset,
                      static_cast<std::streamsize>(out.size));
    }
    return true;
}

}  // namespace

int main(int, char** argv) {
    const std::vector<char> file = read_file(argv[1]), inputs = read_file(argv[2]);
    std::vector<std::unique_ptr<char, void (*)(void*)>> memory;
    auto* stream = static_cast<uint8_t*>(take(&memory, file.size(), kMemoryAlignment));
    std::memcpy(stream, file.data(), file.size());
    Payload payload;
    if (const char* problem = read_payload({stream, file.size()}, {}, payload)) {
        report(problem);
        return 1;
    }
    std::ofstream outputs(argv[3], std::ios::binary);
    const bool good = run(payload, inputs, outputs);
    fake::print_counts();
    return good ? 0 : 1;
}
