// Makes the graphs of self-tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "self_test_graphs.hpp"

namespace arm_runtime::vgf {

using Numbers = std::vector<int64_t>;

/// Elements of a type; floats hold integers exactly: of 16 bits, up to 256.
Bytes bytes_of(ElementType type, const Numbers& numbers);

/// Numbers from -127 to 127 in no order.
Numbers some(int64_t count, int64_t seed);

class TestGraphWriter {
  public:
    using Shape = std::vector<int64_t>;

    uint32_t input(ElementType type, const Shape& shape, const Numbers& numbers) {
        return input(type, shape, bytes_of(type, numbers));
    }
    uint32_t input(ElementType type, const Shape& shape, Bytes data);
    uint32_t constant(ElementType type, const Shape& shape, const Numbers& numbers);
    /// An attribute.
    uint32_t numbers(const Numbers& values) {
        return constant(ElementType::kInt32, {static_cast<int64_t>(values.size())}, values);
    }
    uint32_t add(uint32_t opcode, const std::vector<uint32_t>& operands, ElementType type,
                 const Shape& shape);
    /// A further result of the last operator.
    uint32_t add_result(ElementType type, const Shape& shape);
    void output(uint32_t tensor, Bytes wanted);
    void output(uint32_t tensor, const Numbers& wanted) {
        output(tensor, bytes_of(test_.graph.tensors[tensor].type, wanted));
    }
    TestGraph done();

  private:
    uint32_t value(ElementType type, const Shape& shape);

    TestGraph test_{};
};

// self_test_convolutions.cpp; `type`: of the operands
TestGraph test_convolution(ElementType type);
TestGraph test_depthwise(ElementType type);
TestGraph test_gemm(ElementType type);
TestGraph test_matrices(ElementType type);
TestGraph test_windows(ElementType type);

}  // namespace arm_runtime::vgf
