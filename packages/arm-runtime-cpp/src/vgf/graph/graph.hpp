// A graph segment's SPIR-V as a TOSA graph: checked, so that whatever plans or runs it need not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../parsed_file.hpp"

namespace arm_runtime::vgf {

/// The type of a tensor's elements. SPIR-V's graphs have integers without a sign: TOSA's operators
/// say how they read them, and all but RESCALE read them as signed.
enum class ElementType : uint8_t {
    kBool,  ///< a byte, 0 or 1
    kInt8,
    kInt16,
    kInt32,
    kInt48,  ///< lies as int64
    kFloat16,
    kBFloat16,
    kFloat32,
    kFloat8E4M3,
    kFloat8E5M2,
};

/// Bytes of an element in memory.
size_t size_of(ElementType type);

/// "i8", "fp32", ...: the names of the TOSA specification.
const char* name_of(ElementType type);

/// A value of a graph.
struct Tensor {
    ElementType type{};
    std::vector<int64_t> shape;  ///< empty: a scalar
    bool constant = false;
    std::vector<uint8_t> data;  ///< of a constant: its elements, row-major
};

int64_t elements(const Tensor& tensor);

/// An instruction of the set TOSA.001000.1. Operands are in the order of SPIRV-Headers'
/// extinst.tosa.001000.1.grammar.json; attributes are constant tensors as well.
struct Operator {
    uint32_t opcode;  ///< TOSAInstructions
    std::vector<uint32_t> operands;
    std::vector<uint32_t> results;
};

/// A tensor that a graph takes or gives, and the VGF resource that holds it.
struct GraphPort {
    uint32_t tensor;
    uint32_t resource;
};

struct Graph {
    std::vector<Tensor> tensors;
    std::vector<Operator> operators;  ///< in an order in which they can run
    std::vector<GraphPort> inputs;
    std::vector<GraphPort> outputs;

    const Tensor& operand(const Operator& op, size_t index) const {
        return tensors[op.operands[index]];
    }
    const Tensor& result(const Operator& op, size_t index = 0) const {
        return tensors[op.results[index]];
    }
    /// The elements of a constant operand of bools or integers.
    std::vector<int64_t> integers(const Operator& op, size_t index) const;
    int64_t integer(const Operator& op, size_t index) const { return integers(op, index).at(0); }
};

/// "CONV2D", ... of TOSAInstructions.
const char* opcode_name(uint32_t opcode);

/// Reads the graph of a segment that read_file has read.
///
/// Every operand, type, shape and attribute is checked against TOSA 1.0: an operator's operands
/// are as many as the grammar says; those that TOSA requires to be constants are; shapes and types
/// are those that TOSA's section of the operator computes; results agree with them; sizes fit.
/// Throws Error, with the segment, the operator's number and name, and what is wrong.
Graph read_graph(const std::vector<Resource>& resources, const Segment& segment,
                 const SegmentCode& code, const std::string& where);
/// The same of a segment by its number.
Graph read_graph(const ParsedFile& file, size_t segment);

}  // namespace arm_runtime::vgf
