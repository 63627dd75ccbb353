// The command loop.

#include "arm_runtime/ethosu_model.hpp"
#include "container.hpp"
#include "formats.hpp"
#include "machine.hpp"

namespace arm_runtime {
namespace ethosu {
namespace {

// How often a program may branch backwards: one that never ends is a fault, not a hang.
#ifndef ARM_ETHOSU_MOST_LOOPS
#define ARM_ETHOSU_MOST_LOOPS 65536
#endif

bool configure(Machine& m, const EthosUProgram& program) {
    for (const Accelerator& a : kAccelerators) {
        if (a.family != program.family || a.macs != program.macs) continue;
        m.accelerator = &a;
        m.hazards.set_capacity(kKernels, a.dmas);
        return m.take(a.on_chip_size, m.on_chip);
    }
    m.accelerator = &kAccelerators[0];  // for the text of the fault
    return m.fail(EthosUFaultCode::kConfiguration,
                  "no accelerator of this family has %" PRIu32 " MACs", program.macs);
}

bool compute(Machine& m, Op op, uint32_t parameter) {
    switch (op) {
        case Op::CONV:
            return run_convolution(m, false, parameter);
        case Op::DEPTHWISE:
            return run_convolution(m, true, parameter);
        case Op::POOL:
            return run_pool(m, parameter);
        case Op::ELEMENTWISE:
            return run_elementwise(m, parameter);
        case Op::RESIZE:
            return run_resize_u85(m, parameter);
        default:
            return m.fail(EthosUFaultCode::kCommand, "no operation");
    }
}

/// Waits count operations in flight: in the lowest bits, above them the number of the channel.
bool wait(Machine& m, Hazards::Kind kind, uint32_t parameter) {
    constexpr uint32_t kCount = 15;
    if (parameter > kCount)
        return m.fail(EthosUFaultCode::kUnmodelled, "a wait for channel %" PRIu32, parameter >> 4);
    m.hazards.wait(kind, parameter);
    if (kind == Hazards::Kind::kKernel && parameter == 0) m.made.any = false;
    return true;
}

bool begin_kernel(Machine& m) {
    const uint32_t most = m.is_u85() ? 7 : 3, unfinished = m.r[R16::BLOCKDEP];
    if (unfinished > most)
        return m.fail(EthosUFaultCode::kRegister, "BLOCKDEP has no value %" PRIu32, unfinished);
    m.result = Machine::Flag::kUnknown;
    if (m.chained) return true;  // it is a part of the kernel that has begun
    m.before = m.made;
    m.made.any = false;
    return true;
}

bool operate(Machine& m, Op op, uint32_t parameter) {
    switch (op) {
        case Op::KERNEL_WAIT:
            return wait(m, Hazards::Kind::kKernel, parameter);
        case Op::DMA_WAIT:
            return wait(m, Hazards::Kind::kDma, parameter);
        case Op::IRQ:
        case Op::PMU_MASK:
            return true;
        case Op::DMA_START:
            m.hazards.begin(Hazards::Kind::kDma, false, m.fault->command_index);
            return run_dma(m);
        default:
            m.hazards.begin(Hazards::Kind::kKernel, m.chained, m.fault->command_index);
            return begin_kernel(m) && compute(m, op, parameter);
    }
}

/// Where a BRANCH at word `at` leads: to a distance in bytes from the start of the stream, always
/// or if the result before it was not 0. All paths are planned one after the other, since Vela sets
/// all registers anew after a branch and where one leads.
bool branch_u85(Machine& m, Words stream, size_t& at, uint32_t& loops) {
    const uint32_t condition = stream[at] >> 16, target = stream[at + 1];
    constexpr uint32_t kAlways = 0, kResultTrue = 1;
    if (condition > kResultTrue)
        return m.fail(EthosUFaultCode::kRegister, "there is no condition %" PRIu32, condition);
    if (target % 4 != 0 || target / 4 >= stream.size())
        return m.fail(EthosUFaultCode::kAddress,
                      "byte %" PRIu32 " is no word of the command stream", target);
    const size_t next = at + 2;
    if (m.planning) {
        at = next;
        return true;
    }
    if (condition != kAlways && m.result == Machine::Flag::kUnknown)
        return m.fail(EthosUFaultCode::kUnmodelled,
                      "a condition other than a result of one element");
    const bool taken = condition == kAlways || m.result == Machine::Flag::kTrue;
    if (taken && target / 4 <= at && ++loops > ARM_ETHOSU_MOST_LOOPS)
        return m.fail(EthosUFaultCode::kCommand, "the program went back %d times",
                      ARM_ETHOSU_MOST_LOOPS);
    at = taken ? target / 4 : next;
    return true;
}

bool execute(Machine& m, Words stream) {
    constexpr uint32_t kCodeMask = 0x3FF, kKindShift = 14;
    EthosUFault& at = *m.fault;
    const bool u85 = m.is_u85();
    m.base = m.held = m.workspace.mark();
    size_t i = 0;
    uint32_t loops = 0;
    for (; i < stream.size(); ++at.command_index) {
        const uint32_t word = stream[i], code = word & kCodeMask, kind = word >> kKindShift & 3;
        const auto parameter = static_cast<uint16_t>(word >> 16);
        at.word_index = static_cast<uint32_t>(i);
        const char* name = kind == 0   ? short_command_name(u85, code)
                           : kind == 1 ? long_command_name(u85, code)
                                       : nullptr;
        m.command = name != nullptr ? name : "unknown";
        if (name == nullptr)
            return m.fail(EthosUFaultCode::kCommand, "word 0x%08" PRIx32 " is no command", word);
        if (kind == 1) {
            if (stream.size() - i < 2)
                return m.fail(EthosUFaultCode::kCommand, "the stream ends inside the command");
            if (u85 && static_cast<Op>(code) == Op::BRANCH) {
                if (!branch_u85(m, stream, i, loops)) return false;
                continue;
            }
            m.r.set(static_cast<R32>(code), stream[i + 1], parameter);
            i += 2;
            continue;
        }
        ++i;
        if (code >= Registers::kShortFirst) {
            m.r.set(static_cast<R16>(code), parameter);
            continue;
        }
        if (static_cast<Op>(code) == Op::STOP) return true;
        const bool done = operate(m, static_cast<Op>(code), parameter);
        m.workspace.release(m.held);
        if (!done) return false;
    }
    return m.fail(EthosUFaultCode::kCommand, "the stream ends without NPU_OP_STOP");
}

bool start(Machine& m, const EthosUProgram& program, EthosUFault& fault) {
    fault = {};
    m.fault = &fault;
    Container container;
    if (!configure(m, program)) return false;
    const char* problem = read_container(program.commands, program.size, container);
    if (problem != nullptr) return m.fail(EthosUFaultCode::kContainer, "%s", problem);
    return execute(m, container.stream);
}

}  // namespace
}  // namespace ethosu

bool ethosu_model_plan(const EthosUProgram& program, uint32_t workers, size_t& workspace_size,
                       EthosUFault& fault) {
    ethosu::Machine m;
    m.planning = true;
    m.workers.workers = workers;
    if (!ethosu::start(m, program, fault)) return false;
    constexpr uint64_t kSkew = 64;  // for a workspace that is not aligned
    const uint64_t size = m.workspace.peak() + kSkew;
    if (size > SIZE_MAX / 2)
        return m.fail(EthosUFaultCode::kWorkspace, "an operation is too large for this machine");
    workspace_size = static_cast<size_t>(size);
    return true;
}

bool ethosu_model_run(const EthosUProgram& program, const EthosUMemory& memory,
                      const EthosUWorkers& workers, EthosUFault& fault) {
    ethosu::Machine m;
    m.workers = workers.run == nullptr ? EthosUWorkers{} : workers;
    m.workspace = {memory.workspace, memory.workspace_size};
    for (int i = 0; i < 8; ++i) m.regions[i] = memory.regions[i];
    return ethosu::start(m, program, fault);
}

}  // namespace arm_runtime
