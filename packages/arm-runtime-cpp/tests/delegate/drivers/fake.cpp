#include "fake.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "arm_runtime/ethosu_model.hpp"

namespace fake {
namespace {
std::map<std::string, int> counts;
}

bool fails(const char* what) {
    const char* asked = std::getenv("FAKE_FAILS");
    return asked != nullptr && std::strcmp(asked, what) == 0;
}

void count(const std::string& call) { ++counts[call]; }

void print_counts() {
    for (const auto& [call, number] : counts) std::printf("%s %d\n", call.c_str(), number);
}

void require(bool condition, const char* rule) {
    if (condition) return;
    std::fprintf(stderr, "broken rule: %s\n", rule);
    std::exit(3);
}

void run(arm_runtime::ethosu::Bytes stream, arm_runtime::ethosu::Bytes weights, uint8_t* scratch,
         size_t scratch_size) {
    // The model takes a driver payload: COP1, then the command stream as action 2.
    const auto words = static_cast<uint32_t>(stream.size / 4);
    std::vector<uint32_t> payload = {0x31504F43, 2 | (words >> 16) << 8 | words << 16};
    payload.resize(payload.size() + words);
    std::memcpy(payload.data() + 2, stream.data, stream.size);
    const arm_runtime::EthosUProgram program{arm_runtime::EthosUFamily::kU55, 128,
                                             reinterpret_cast<const uint8_t*>(payload.data()),
                                             4 * payload.size()};
    arm_runtime::EthosUFault fault;
    arm_runtime::EthosUMemory memory;
    bool good = arm_runtime::ethosu_model_plan(program, 1, memory.workspace_size, fault);
    std::vector<uint8_t> workspace(memory.workspace_size);
    memory.workspace = workspace.data();
    memory.regions[0] = {const_cast<uint8_t*>(weights.data), weights.size, true, nullptr};
    memory.regions[1] = {scratch, scratch_size, false, nullptr};
    good = good && arm_runtime::ethosu_model_run(program, memory, {}, fault);
    require(good, fault.text);
}

}  // namespace fake
