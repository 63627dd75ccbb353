// The C interface: adds threads and memory to the model, which has neither.
#include <cstdio>
#include <memory>
#include <new>

#include "../host_threads.hpp"
#include "arm_runtime/ethosu_model.hpp"
#include "arm_runtime/ethosu_model_c.h"
#include "weight_decoder.hpp"

namespace {

using arm_runtime::ethosu::kMostThreads;
using arm_runtime::ethosu::run_threads;

bool find_family(uint32_t number, arm_runtime::EthosUFamily& family) {
    using arm_runtime::EthosUFamily;
    family = number == 55   ? EthosUFamily::kU55
             : number == 65 ? EthosUFamily::kU65
                            : EthosUFamily::kU85;
    return number == 55 || number == 65 || number == 85;
}

}  // namespace

extern "C" int arm_ethosu_model_run(const uint8_t* command_stream, uint64_t size, uint32_t family,
                                    uint32_t macs, const arm_ethosu_region* regions,
                                    uint32_t region_count, uint32_t threads,
                                    uint64_t workspace_limit, char* message,
                                    uint64_t message_size) {
    auto named = arm_runtime::EthosUFamily::kU55;
    if (!find_family(family, named) || region_count > 8 || (regions == nullptr && region_count > 0))
        return -1;
    const uint32_t workers = threads < 1 ? 1 : threads > kMostThreads ? kMostThreads : threads;
    const arm_runtime::EthosUProgram program{named, macs, command_stream,
                                             static_cast<size_t>(size)};
    arm_runtime::EthosUFault fault;
    arm_runtime::EthosUMemory memory;
    if (arm_runtime::ethosu_model_plan(program, workers, memory.workspace_size, fault)) {
        if (memory.workspace_size > workspace_limit) return -2;
        const std::unique_ptr<uint8_t[]> workspace(new (std::nothrow)
                                                       uint8_t[memory.workspace_size]);
        if (workspace == nullptr) return -2;
        memory.workspace = workspace.get();
        for (uint32_t i = 0; i < region_count; ++i) {
            const arm_ethosu_region& r = regions[i];
            memory.regions[i] = {r.data, static_cast<size_t>(r.size), r.read_only != 0, r.written};
        }
        arm_runtime::ethosu_model_run(program, memory, {workers, run_threads, nullptr}, fault);
    }
    if (message != nullptr && message_size > 0)
        std::snprintf(message, static_cast<size_t>(message_size), "%s", fault.text);
    return static_cast<int>(fault.code);
}

extern "C" int64_t arm_ethosu_decode_weights(const uint8_t* stream, uint64_t size, int16_t* weights,
                                             uint64_t capacity) {
    const arm_runtime::ethosu::DecodedWeights decoded = arm_runtime::ethosu::decode_weights(
        stream, static_cast<size_t>(size), weights, static_cast<size_t>(capacity));
    return decoded.problem != nullptr ? -1 : static_cast<int64_t>(decoded.count);
}
