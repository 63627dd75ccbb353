// Loads payload.bin into the delegate and runs it on every input in inputs.bin; writes outputs.bin.
// One int8 input and one int8 output; files are read and written over semihosting.
#include <executorch/runtime/core/evalue.h>

#include <cstdio>

#include "payload.hpp"
#include "stand_ins.hpp"

namespace {

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

constexpr size_t kMostPayload = 1 << 20, kMostInputs = 1 << 16, kMostOutput = 4096;
alignas(16) uint8_t payload[kMostPayload];
alignas(16) uint8_t inputs[kMostInputs];
alignas(16) uint8_t output[kMostOutput];
alignas(16) uint8_t program_memory[64 << 10];
alignas(16) uint8_t temporary_memory[2 << 20];

/// Bytes read, or 0 if there is no such file or it is too large.
size_t read_file(const char* name, uint8_t* to, size_t capacity) {
    std::FILE* file = std::fopen(name, "rb");
    if (file == nullptr) return 0;
    const size_t size = std::fread(to, 1, capacity, file);
    std::fclose(file);
    return size < capacity ? size : 0;
}

/// A vector of int8 in memory that stays.
TensorImpl vector(uint8_t* data, TensorImpl::SizesType& size) {
    return TensorImpl(ScalarType::Char, 1, &size, data);
}

int run(size_t payload_size, size_t inputs_size, std::FILE* outputs) {
    arm_runtime::ethosu::Payload view;
    if (arm_runtime::ethosu::read_payload({payload, payload_size}, {}, view) != nullptr) return 1;
    if (view.inputs.count() != 1 || view.outputs.count() != 1 || view.outputs[0].size > kMostOutput)
        return 1;
    auto input_size = static_cast<TensorImpl::SizesType>(view.inputs[0].size);
    auto output_size = static_cast<TensorImpl::SizesType>(view.outputs[0].size);

    et::MemoryAllocator program(sizeof program_memory, program_memory);
    et::FreeableBuffer processed(payload, payload_size, nullptr);
    et::BackendInitContext init_context(&program);
    et::BackendInterface* backend = registered_backend();
    if (backend == nullptr) return 2;
    const et::Result<et::DelegateHandle*> handle = backend->init(init_context, &processed, {});
    if (!handle.ok()) return 3;
    int runs = 0, status = 0;
    for (size_t at = 0; at + view.inputs[0].size <= inputs_size && status == 0;
         at += view.inputs[0].size, ++runs) {
        TensorImpl in = vector(inputs + at, input_size), out = vector(output, output_size);
        et::EValue values[2] = {et::EValue(Tensor(&in)), et::EValue(Tensor(&out))};
        et::EValue* arguments[2] = {&values[0], &values[1]};
        et::MemoryAllocator temporary(sizeof temporary_memory, temporary_memory);
        et::BackendExecutionContext context(nullptr, &temporary);
        const et::Error error = backend->execute(context, handle.get(), {arguments, 2});
        if (error != et::Error::Ok ||
            std::fwrite(output, 1, view.outputs[0].size, outputs) != view.outputs[0].size)
            status = 4;
    }
    backend->destroy(handle.get());
    std::printf("%d runs\n", runs);
    return status;
}

}  // namespace

int main() {
    const size_t payload_size = read_file("payload.bin", payload, sizeof payload);
    const size_t inputs_size = read_file("inputs.bin", inputs, sizeof inputs);
    std::FILE* outputs = std::fopen("outputs.bin", "wb");
    if (payload_size == 0 || inputs_size == 0 || outputs == nullptr) {
        std::puts(
            "payload.bin or inputs.bin is missing or too large, or outputs.bin cannot be written");
        return 1;
    }
    const int status = run(payload_size, inputs_size, outputs);
    std::fclose(outputs);
    return status;
}
