// libFuzzer target over the payload reader: a payload that it accepts must be readable to its ends.
#include <cstdlib>
#include <cstring>

#include "ethosu/delegate/payload.hpp"

namespace {

using namespace arm_runtime::ethosu;

/// Named data: the name itself, so that external blocks are as hostile as the rest.
bool find(void*, const char* name, size_t size, Bytes& found) {
    if (name[0] == 0) return false;
    found = {reinterpret_cast<const uint8_t*>(name), size};
    return true;
}

unsigned sum(Bytes bytes) {
    unsigned total = 0;
    for (size_t i = 0; i < bytes.size; ++i) total += bytes.data[i];
    return total;
}

void check(const Slots& slots, size_t scratch_size) {
    for (uint32_t i = 0; i < slots.count(); ++i) {
        const Slot slot = slots[i];
        if (slot.placed && (slot.size > scratch_size || slot.offset > scratch_size - slot.size))
            std::abort();
        if (slot.size == 0 || slot.size % slot.element_size != 0) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Payload payload;
    if (read_payload({data, size}, {find, nullptr}, payload) != nullptr) return 0;
    volatile unsigned total = sum(payload.commands) + sum(payload.weights);
    check(payload.inputs, payload.scratch_size);
    check(payload.outputs, payload.scratch_size);
    Container container;
    if (read_commands(payload, container) == nullptr)
        total = total + sum({container.stream.bytes(), 4 * container.stream.size()});
    return 0;
}
