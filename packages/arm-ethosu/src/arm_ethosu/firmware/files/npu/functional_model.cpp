// The NPU's functional model, on the processor itself: bit for bit what an NPU computes, and thousands of times slower.
#include <arm_runtime/ethosu_model.hpp>

#ifdef NPU_MODEL_THREADS
#include <mutex>
#endif

#include "container.hpp"
#include "npu.h"

#ifndef NPU_MODEL_WORKSPACE
#error "NPU_MODEL_WORKSPACE: bytes of memory for the functional model's intermediate values"
#endif

namespace {

alignas(16) uint8_t workspace[NPU_MODEL_WORKSPACE];
arm_runtime::EthosUFault fault;  // has a long text, too long for the stack
#ifdef NPU_MODEL_THREADS
std::mutex npu;  // there is one: threads wait for it, as Arm's driver has them wait for an NPU
#endif

}  // namespace

extern "C" int npu_run(const npu_job* job) {
    using arm_runtime::EthosUProgram;
    arm_runtime::ethosu::Container container;
    if (arm_runtime::ethosu::read_container(job->commands, job->commands_size, container) != nullptr) return 1;
    EthosUProgram program;
    program.family = static_cast<arm_runtime::EthosUFamily>(container.product());
    program.macs = container.macs();
    program.commands = job->commands;
    program.size = job->commands_size;
    arm_runtime::EthosUMemory memory;
    // The model never writes to a read-only region.
    memory.regions[0] = {const_cast<uint8_t*>(job->weights), job->weights_size, true, nullptr};
    memory.regions[1] = {job->scratch, job->scratch_size, false, nullptr};
    memory.regions[2] = {job->fast_scratch, job->fast_scratch_size, false, nullptr};
#ifdef NPU_MODEL_THREADS
    const std::lock_guard<std::mutex> reserved(npu);
#endif
    memory.workspace = workspace;
    memory.workspace_size = sizeof(workspace);
    fault = {};
    return arm_runtime::ethosu_model_run(program, memory, {}, fault) ? 0 : static_cast<int>(fault.code);
}
