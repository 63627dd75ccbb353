// The Ethos-U functional model: runs a Vela command stream on the host, bit for bit, without a
// board.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arm_runtime {

enum class EthosUFamily : uint8_t { kU55, kU65, kU85 };

/// Why a program stopped.
enum class EthosUFaultCode : uint8_t {
    kNone,
    kContainer,      ///< not a driver payload (COP1, COP2), or cut short
    kCommand,        ///< an opcode that the family does not have
    kRegister,       ///< a register that an operator needs was never set, or has a value that means
                     ///< nothing
    kUnmodelled,     ///< a mode that the hardware may have and this model has not
    kAddress,        ///< outside its region, or outside the tables' memory
    kUnwritten,      ///< a read of bytes that nobody wrote
    kWeights,        ///< a weight stream that is too short or is not one
    kOverflow,       ///< an accumulator beyond its width, where the hardware's answer is unknown
    kWorkspace,      ///< less workspace than `ethosu_model_plan` asked for
    kConfiguration,  ///< there is no accelerator of this family with so many MACs
    kHazard,         ///< memory that an operation in flight may be using, and no wait for it
};

/// A fault. `text` names the command, its index, the reason, and every register that was set.
struct EthosUFault {
    EthosUFaultCode code = EthosUFaultCode::kNone;
    uint32_t command_index = 0;  ///< counting commands from 0; register writes are commands too
    uint32_t word_index = 0;     ///< in 32-bit words from the start of the command stream
    char text[4096] = {};
};

/// One of the eight address spaces that a command stream refers to. Vela's: 0 weights, 1 scratch, 2
/// fast scratch.
struct EthosURegion {
    uint8_t* data = nullptr;
    size_t size = 0;
    /// Nothing may write here; `data` is then never written through.
    bool read_only = false;
    /// Optional, `size` bytes: not 0 where the byte of `data` beside it has been written. The model
    /// checks it at each read and marks what it writes. Without it, each byte counts as written.
    uint8_t* written = nullptr;
};

/// What to run: `macs` are multiply-accumulates per cycle, all cores together, as in
/// "ethos-u55-128".
struct EthosUProgram {
    EthosUFamily family = EthosUFamily::kU55;
    uint32_t macs = 0;
    const uint8_t* commands = nullptr;  ///< Vela's cmd_data, any alignment
    size_t size = 0;                    ///< bytes
};

/// A way to use several cores. `run` calls `body(argument, worker)` once for each worker in [0,
/// workers), possibly at the same time, and returns when all have returned. Without `run`,
/// `workers` is 1.
struct EthosUWorkers {
    uint32_t workers = 1;
    void (*run)(void* context, uint32_t workers, void (*body)(void* argument, uint32_t worker),
                void* argument) = nullptr;
    void* context = nullptr;
};

struct EthosUMemory {
    EthosURegion regions[8];
    uint8_t* workspace = nullptr;  ///< any alignment; holds nothing between runs
    size_t workspace_size = 0;
};

/// Finds how many bytes of workspace `ethosu_model_run` needs for the program with so many workers.
/// Returns false and fills `fault` for a program that is malformed.
bool ethosu_model_plan(const EthosUProgram& program, uint32_t workers, size_t& workspace_size,
                       EthosUFault& fault);

/// Runs the program to its end. Allocates nothing and throws nothing.
/// Returns false and fills `fault` at the first fault; the regions then hold what had been
/// computed.
bool ethosu_model_run(const EthosUProgram& program, const EthosUMemory& memory,
                      const EthosUWorkers& workers, EthosUFault& fault);

}  // namespace arm_runtime
