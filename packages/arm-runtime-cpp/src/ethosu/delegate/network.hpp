// What the delegate asks of whatever runs command streams: the functional model, the core driver on
// bare metal, the kernel driver on Linux.
#pragma once

#include <cstddef>
#include <cstdint>

#include "payload.hpp"

namespace arm_runtime::ethosu {

/// Alignment of scratch memory, weights and command streams, in bytes.
constexpr size_t kMemoryAlignment = 16;

/// Takes the text of an error, of any length.
using Report = void (*)(const char* text);

/// What a network reports after a job whose end it did not see: the job may still write to its
/// memory.
constexpr const char* kLost =
    "an earlier job on this network did not end, and may still write to its memory: load the "
    "program again";

/// Memory that lives as long as the program; nullptr when there is no more.
struct Allocator {
    void* (*take)(void* context, size_t size, size_t alignment) = nullptr;
    void* context = nullptr;
};

/// A payload that a driver has taken and can run any number of times, one run at a time. Nothing
/// here throws.
class Network {
  public:
    virtual ~Network() = default;

    /// Bytes of memory that a run needs, aligned to `kMemoryAlignment`; it keeps nothing there.
    virtual size_t temporary_size() const = 0;

    /// The scratch memory, `Payload::scratch_size` bytes: inputs go there before a run, outputs are
    /// there after it. Returns nullptr after telling `report` why nothing may be written there.
    virtual uint8_t* scratch(uint8_t* temporary, Report report) = 0;

    /// Runs once, after `scratch` has returned memory for this run. Returns false after telling
    /// `report` why it failed.
    virtual bool run(uint8_t* temporary, Report report) = 0;
};

/// Called before anything is logged; a host makes the log safe for threads there.
void prepare_log();

/// Gives a payload, which must outlive the network, to this machine's driver. The caller ends the
/// network with its destructor; its memory is the allocator's. Returns nullptr after telling
/// `report` why. One driver is linked: the choice is made where this function is defined.
Network* open_network(const Payload& payload, const Allocator& allocator, Report report);

}  // namespace arm_runtime::ethosu
