// The block stream in which a .pte carries what Vela made of a graph.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../model/container.hpp"

namespace arm_runtime::ethosu {

struct Bytes {
    const uint8_t* data = nullptr;
    size_t size = 0;
};

/// An input or an output of the command stream.
struct Slot {
    uint32_t element_size = 0;  ///< bytes
    size_t size = 0;            ///< bytes of all elements
    bool placed = false;        ///< false: Vela gave it no memory, because nothing reads it
    size_t offset = 0;          ///< bytes from the start of the scratch memory
};

/// The inputs or the outputs, as they lie in the payload.
class Slots {
  public:
    Slots() = default;
    Slots(const uint8_t* rows, uint32_t count) : rows_(rows), count_(count) {}
    uint32_t count() const { return count_; }
    Slot operator[](uint32_t index) const;

  private:
    const uint8_t* rows_ = nullptr;
    uint32_t count_ = 0;
};

/// Views of a payload that has been checked; the payload, and named data, must outlive it.
struct Payload {
    Bytes commands;  ///< the driver payload with the command stream, from "COP" on
    Bytes weights;
    size_t scratch_size = 0;
    Slots inputs;
    Slots outputs;
};

/// Finds data that a payload refers to by name instead of holding it. Returns false if there is
/// none of that name.
struct NamedData {
    bool (*find)(void* context, const char* name, size_t name_size, Bytes& found) = nullptr;
    void* context = nullptr;
};

/// Reads a payload that may be malformed in any way. Blocks have a header of 32 bytes (name of 16
/// bytes, zero padded; size, uint32; 1 if the data is the name, of 64 bytes, of named data; 11
/// reserved bytes), then data, padded to 16 bytes. `vela_bin_stream` comes first and
/// `vela_end_stream` last, both empty; between them, in any order, `cmd_data`, `weight_data`,
/// `scratch_size` (uint32), `inputs` and `outputs` (a count, then nine int32 each: a shape of six,
/// bytes per element, offset, region). Returns nullptr, or what is wrong.
const char* read_payload(Bytes stream, const NamedData& named, Payload& payload);

/// Reads the command stream of a payload, and for which accelerator it is. Returns nullptr, or what
/// is wrong.
const char* read_commands(const Payload& payload, Container& container);

}  // namespace arm_runtime::ethosu
