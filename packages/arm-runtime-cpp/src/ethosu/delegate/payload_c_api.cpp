// The C interface to payloads: what the delegate does, without ExecuTorch.
#include <memory>

#include "../../c_interface.hpp"
#include "arm_runtime/ethosu_payload_c.h"
#include "network.hpp"

namespace {

using namespace arm_runtime::c;
using namespace arm_runtime::ethosu;

/// `Report` has no context: what a network reports goes where the error that is thrown goes.
void keep_problem(const char* text) { last_error = text; }

/// All that a network takes, until it has ended.
using Memory = std::vector<std::unique_ptr<uint8_t[]>>;

void* take(void* context, size_t size, size_t alignment) {
    try {
        std::unique_ptr<uint8_t[]> bytes(new uint8_t[size + alignment]);
        const auto& memory = static_cast<Memory*>(context)->emplace_back(std::move(bytes));
        const size_t off = reinterpret_cast<uintptr_t>(memory.get()) % alignment;
        return memory.get() + (off > 0 ? alignment - off : 0);
    } catch (const std::exception&) {  // networks are without exceptions
        return nullptr;
    }
}

struct End {
    void operator()(Network* network) const { network->~Network(); }
};

std::vector<arm_ethosu_buffer> read_buffers(const Slots& slots, const arm_ethosu_buffer* given,
                                            size_t count, const std::string& what) {
    if (count != slots.count()) {
        throw std::invalid_argument("the payload has " + std::to_string(slots.count()) + " " +
                                    what + "s, not " + std::to_string(count));
    }
    std::vector<arm_ethosu_buffer> buffers = read_structs(given, count, what);
    for (uint32_t i = 0; i < count; ++i) {
        const std::string name = what + " " + std::to_string(i);
        if (buffers[i].data == nullptr) throw std::invalid_argument(name + " is NULL");
        if (buffers[i].bytes == slots[i].size) continue;
        throw std::invalid_argument(name + " takes " + std::to_string(slots[i].size) +
                                    " bytes, and " + std::to_string(buffers[i].bytes) +
                                    " were given");
    }
    return buffers;
}

void run(const Payload& payload, const std::vector<arm_ethosu_buffer>& inputs,
         const std::vector<arm_ethosu_buffer>& outputs) {
    Memory memory;
    const std::unique_ptr<Network, End> network(
        open_network(payload, {take, &memory}, keep_problem));
    if (network == nullptr) throw std::runtime_error(std::string(last_error));
    auto* temporary =
        static_cast<uint8_t*>(take(&memory, network->temporary_size(), kMemoryAlignment));
    if (temporary == nullptr) throw std::bad_alloc();
    uint8_t* scratch = network->scratch(temporary, keep_problem);
    if (scratch == nullptr) throw std::runtime_error(std::string(last_error));
    for (uint32_t i = 0; i < inputs.size(); ++i)
        if (const Slot slot = payload.inputs[i]; slot.placed)
            std::memcpy(scratch + slot.offset, inputs[i].data, slot.size);
    if (!network->run(temporary, keep_problem)) throw std::runtime_error(std::string(last_error));
    for (uint32_t i = 0; i < outputs.size(); ++i) {
        const Slot slot = payload.outputs[i];
        if (!slot.placed) {
            throw std::runtime_error("output " + std::to_string(i) +
                                     " has no place in the payload");
        }
        std::memcpy(outputs[i].data, scratch + slot.offset, slot.size);
    }
}

Payload read_from(const uint8_t* data, size_t size) {
    if (data == nullptr) throw std::invalid_argument("the payload is NULL");
    Payload payload;
    const char* wrong = read_payload({data, size}, {}, payload);
    if (wrong != nullptr) throw std::runtime_error(std::string("the payload ") + wrong);
    return payload;
}

}  // namespace

uint32_t arm_ethosu_payload_api_version(void) { return ARM_ETHOSU_PAYLOAD_API_VERSION; }

const char* arm_ethosu_payload_last_error(void) { return last_error.c_str(); }

int arm_ethosu_payload_run(const uint8_t* payload, size_t bytes, const arm_ethosu_buffer* inputs,
                           size_t input_count, const arm_ethosu_buffer* outputs,
                           size_t output_count) {
    return status_of([&] {
        const Payload read = read_from(payload, bytes);
        const auto in = read_buffers(read.inputs, inputs, input_count, "input");
        const auto out = read_buffers(read.outputs, outputs, output_count, "output");
        run(read, in, out);
    });
}

int arm_ethosu_payload_get_outputs(const uint8_t* payload, size_t bytes, arm_ethosu_output* outputs,
                                   size_t capacity, size_t* count) {
    return status_of([&] {
        if (count == nullptr || (capacity > 0 && outputs == nullptr)) {
            throw std::invalid_argument("a place for what the payload has is NULL");
        }
        *count = 0;
        const Payload read = read_from(payload, bytes);
        *count = read.outputs.count();
        for (uint32_t i = 0; i < *count && i < capacity; ++i) {
            write_struct(element(outputs, i),
                         {0, read.outputs[i].size, read.outputs[i].element_size});
        }
    });
}
