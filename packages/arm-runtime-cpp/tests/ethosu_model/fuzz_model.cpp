// libFuzzer's target: any bytes as a program for any accelerator, and as weights. Nothing but a
// fault may come of it. Without its own container, input is the words of a command stream.
#include <cstring>
#include <vector>

#include "arm_runtime/ethosu_model.hpp"
#include "ethosu/model/accelerators.hpp"
#include "ethosu/model/fast_weight_decoder.hpp"

namespace {

using arm_runtime::EthosUFault;
using arm_runtime::EthosUProgram;

constexpr size_t kRegion = 1 << 16, kMostWorkspace = 1 << 22;

void put_word(std::vector<uint8_t>& bytes, uint32_t word) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
}

std::vector<uint8_t> in_container(const uint8_t* words, size_t size) {
    const uint32_t count = static_cast<uint32_t>(size / 4);
    std::vector<uint8_t> payload = {'C', 'O', 'P', '1'};
    put_word(payload, 2 | (count & 0xFFFF) << 16 | count >> 16 << 8);
    payload.insert(payload.end(), words, words + size_t{count} * 4);
    return payload;
}

void run_program(const arm_runtime::ethosu::Accelerator& accelerator, const uint8_t* data,
                 size_t size) {
    const EthosUProgram program{accelerator.family, accelerator.macs, data, size};
    EthosUFault fault;
    arm_runtime::EthosUMemory memory;
    if (!ethosu_model_plan(program, 1, memory.workspace_size, fault)) return;
    if (memory.workspace_size > kMostWorkspace) return;
    std::vector<uint8_t> workspace(memory.workspace_size), weights(kRegion), scratch(kRegion),
        written(kRegion, 1);
    for (size_t i = 0; i < kRegion; ++i) weights[i] = data[i % size];
    memory.workspace = workspace.data();
    memory.regions[0] = {weights.data(), kRegion, true, nullptr};
    memory.regions[1] = {scratch.data(), kRegion, false, written.data()};
    ethosu_model_run(program, memory, {}, fault);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace arm_runtime::ethosu;
    constexpr size_t kCount = sizeof(kAccelerators) / sizeof(kAccelerators[0]);
    if (size < 8) return 0;
    const Accelerator& accelerator = kAccelerators[data[0] % kCount];
    ++data;
    --size;
    const std::vector<uint8_t> wrapped = in_container(data, size);
    if (std::memcmp(data, "COP", 3) == 0) {
        run_program(accelerator, data, size);
    } else {
        run_program(accelerator, wrapped.data(), wrapped.size());
    }
    int16_t decoded[256];
    decode_weights(data, size, decoded, 256);
    decode_fast_weights(data, size, decoded, 256);
    return 0;
}
