// The C interface to payloads: what the delegate does, without ExecuTorch.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arm_runtime/ethosu_payload_c.h"
#include "network.hpp"

namespace {

using namespace arm_runtime::ethosu;

// As errno: `Report` has no context.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::string problem;

void keep_problem(const char* text) { problem = text; }

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

bool fits(const Slots& slots, const arm_ethosu_buffer* buffers, uint32_t count, const char* what) {
    if (count != slots.count()) {
        problem = "the payload has " + std::to_string(slots.count()) + " " + what + "s, not " +
                  std::to_string(count);
        return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (buffers == nullptr || buffers[i].data == nullptr) {
            problem = std::string(what) + " " + std::to_string(i) + " is NULL";
            return false;
        }
        if (buffers[i].size == slots[i].size) continue;
        problem = std::string(what) + " " + std::to_string(i) + " takes " +
                  std::to_string(slots[i].size) + " bytes, and " + std::to_string(buffers[i].size) +
                  " were given";
        return false;
    }
    return true;
}

bool run(const Payload& payload, const arm_ethosu_buffer* inputs,
         const arm_ethosu_buffer* outputs) {
    Memory memory;
    const std::unique_ptr<Network, End> network(
        open_network(payload, {take, &memory}, keep_problem));
    if (network == nullptr) return false;
    auto* temporary =
        static_cast<uint8_t*>(take(&memory, network->temporary_size(), kMemoryAlignment));
    if (temporary == nullptr) {
        problem = "no memory for a run";
        return false;
    }
    uint8_t* scratch = network->scratch(temporary);
    for (uint32_t i = 0; i < payload.inputs.count(); ++i)
        if (const Slot slot = payload.inputs[i]; slot.placed)
            std::memcpy(scratch + slot.offset, inputs[i].data, slot.size);
    if (!network->run(temporary, keep_problem)) return false;
    for (uint32_t i = 0; i < payload.outputs.count(); ++i) {
        const Slot slot = payload.outputs[i];
        if (!slot.placed) {
            problem = "output " + std::to_string(i) + " has no place in the payload";
            return false;
        }
        std::memcpy(outputs[i].data, scratch + slot.offset, slot.size);
    }
    return true;
}

/// Calls `function`, which says whether it succeeded; nothing is thrown into C.
template <typename Function>
int status_of(Function function, char* message, uint64_t message_size) {
    const auto say = [&](const char* text) {
        if (message != nullptr && message_size > 0)
            std::snprintf(message, static_cast<size_t>(message_size), "%s", text);
    };
    try {
        const bool good = function();
        say(good ? "" : problem.c_str());
        return good ? 0 : 1;
    } catch (const std::exception& error) {
        say(error.what());
        return 1;
    }
}

bool read_from(const uint8_t* data, uint64_t size, Payload& payload) {
    if (data == nullptr) {
        problem = "the payload is NULL";
        return false;
    }
    const char* wrong = read_payload({data, static_cast<size_t>(size)}, {}, payload);
    if (wrong != nullptr) problem = std::string("the payload ") + wrong;
    return wrong == nullptr;
}

}  // namespace

extern "C" int arm_ethosu_payload_run(const uint8_t* payload, uint64_t size,
                                      const arm_ethosu_buffer* inputs, uint32_t input_count,
                                      const arm_ethosu_buffer* outputs, uint32_t output_count,
                                      char* message, uint64_t message_size) {
    return status_of(
        [&] {
            Payload read;
            return read_from(payload, size, read) &&
                   fits(read.inputs, inputs, input_count, "input") &&
                   fits(read.outputs, outputs, output_count, "output") &&
                   run(read, inputs, outputs);
        },
        message, message_size);
}

extern "C" int arm_ethosu_payload_outputs(const uint8_t* payload, uint64_t size, uint64_t* sizes,
                                          uint32_t* element_sizes, uint32_t capacity,
                                          uint32_t* count, char* message, uint64_t message_size) {
    return status_of(
        [&] {
            if (count == nullptr ||
                (capacity > 0 && (sizes == nullptr || element_sizes == nullptr))) {
                problem = "a place for what the payload has is NULL";
                return false;
            }
            *count = 0;
            Payload read;
            if (!read_from(payload, size, read)) return false;
            *count = read.outputs.count();
            for (uint32_t i = 0; i < *count && i < capacity; ++i) {
                sizes[i] = read.outputs[i].size;
                element_sizes[i] = read.outputs[i].element_size;
            }
            return true;
        },
        message, message_size);
}
