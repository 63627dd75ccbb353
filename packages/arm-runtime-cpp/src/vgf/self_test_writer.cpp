#include "self_test_writer.hpp"

#include <cstring>

namespace arm_runtime::vgf {
namespace {

/// The bits of an integer as a float.
uint32_t float_of(int64_t number) {
    const auto value = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/// The same in 16 bits: another bias of the exponent, and less of the mantissa.
uint32_t half_of(int64_t number) {
    if (number == 0) return 0;
    const uint32_t bits = float_of(number);
    return (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10));
}

int64_t bits_of(ElementType type, int64_t number) {
    switch (type) {
        case ElementType::kFloat32:
            return float_of(number);
        case ElementType::kFloat16:
            return half_of(number);
        case ElementType::kBFloat16:
            return float_of(number) >> 16;
        default:
            return number;
    }
}

}  // namespace

Bytes bytes_of(ElementType type, const Numbers& numbers) {
    const size_t size = size_of(type);
    Bytes out(numbers.size() * size);
    for (size_t i = 0; i < numbers.size(); ++i) {
        const int64_t bits = bits_of(type, numbers[i]);
        std::memcpy(&out[i * size], &bits, size);
    }
    return out;
}

Numbers some(int64_t count, int64_t seed) {
    Numbers out;
    for (int64_t i = 0; i < count; ++i) out.push_back((i * i * 7 + i * 53 + seed * 31) % 255 - 127);
    return out;
}

uint32_t TestGraphWriter::input(ElementType type, const Shape& shape, Bytes data) {
    const uint32_t tensor = value(type, shape);
    test_.graph.inputs.push_back({tensor, 0});
    test_.inputs.push_back(std::move(data));
    return tensor;
}

uint32_t TestGraphWriter::constant(ElementType type, const Shape& shape, const Numbers& numbers) {
    const uint32_t tensor = value(type, shape);
    test_.graph.tensors[tensor].constant = true;
    test_.graph.tensors[tensor].data = bytes_of(type, numbers);
    return tensor;
}

uint32_t TestGraphWriter::add(uint32_t opcode, const std::vector<uint32_t>& operands,
                              ElementType type, const Shape& shape) {
    const uint32_t result = value(type, shape);
    test_.graph.operators.push_back({opcode, operands, {result}});
    return result;
}

uint32_t TestGraphWriter::add_result(ElementType type, const Shape& shape) {
    const uint32_t result = value(type, shape);
    test_.graph.operators.back().results.push_back(result);
    return result;
}

void TestGraphWriter::output(uint32_t tensor, Bytes wanted) {
    test_.graph.outputs.push_back({tensor, 0});
    test_.outputs.push_back(std::move(wanted));
}

TestGraph TestGraphWriter::done() {
    uint32_t resource = 0;
    for (auto* ports : {&test_.graph.inputs, &test_.graph.outputs}) {
        for (GraphPort& port : *ports) port.resource = resource++;
    }
    return std::move(test_);
}

uint32_t TestGraphWriter::value(ElementType type, const Shape& shape) {
    test_.graph.tensors.push_back({type, shape, false, {}});
    return static_cast<uint32_t>(test_.graph.tensors.size() - 1);
}

}  // namespace arm_runtime::vgf
