// libFuzzer over the reader of VGFs: preset fuzz, target vgf_fuzz.
#include <cstddef>
#include <cstdint>

#include "vgf/program.hpp"

namespace {

/// Reads every byte that the program promises, for the address sanitizer to judge.
uint64_t touch(const arm_runtime::vgf::Program& program) {
    uint64_t sum = 0;
    const auto add = [&sum](const void* data, uint64_t size) {
        for (uint64_t i = 0; i < size; ++i) sum += static_cast<const uint8_t*>(data)[i];
    };
    for (const auto& segment : program.segments) {
        add(segment.code, segment.code_words * sizeof(uint32_t));
        for (const auto& binding : segment.bindings)
            sum += program.resources[binding.resource].bytes;
        for (const auto& constant : segment.constants) {
            add(constant.data, program.resources[constant.resource].bytes);
        }
    }
    for (const auto& [resource, data] : program.uploads)
        add(data, program.resources[resource].bytes);
    for (const auto* ports : {&program.inputs, &program.outputs}) {
        for (const auto& port : *ports) sum += program.resources[port.resource].bytes;
    }
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        volatile uint64_t sum = touch(arm_runtime::vgf::read_program(data, size));
        (void)sum;
    } catch (const arm_runtime::vgf::Error&) {
        // What a malformed file is for.
    }
    return 0;
}
