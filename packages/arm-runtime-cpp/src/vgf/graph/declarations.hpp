// What stands before the graphs of a SPIR-V module: types, constants, and variables with their
// places. Sources: SPIR-V 1.6, SPV_ARM_tensors, SPV_ARM_graph, SPV_EXT_replicated_composites,
// SPV_KHR_bfloat16, SPV_EXT_float8.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace arm_runtime::vgf {

/// An instruction of a module.
class Instruction {
  public:
    /// `words`: the instruction's, the one with its length and opcode first.
    Instruction(const uint32_t* words, size_t count) : words_(words), count_(count) {}

    uint32_t opcode() const { return words_[0] & 0xffff; }
    /// "OpTypeInt", ...; the number of what SPIRV-Headers has no name for.
    std::string name() const;
    size_t count() const { return count_; }
    /// Throws Error if the instruction is shorter.
    uint32_t operator[](size_t index) const;
    std::vector<uint32_t> from(size_t index) const;
    /// The string literal that begins at a word, and the word after it.
    std::pair<std::string, size_t> literal(size_t index) const;
    /// Throws Error if the instruction has not so many words.
    void check_count(size_t count) const;

  private:
    const uint32_t* words_;
    size_t count_;
};

struct Type {
    enum class Kind : uint8_t { kScalar, kTensor, kArray, kStruct, kPointer, kGraph };
    Kind kind;
    ElementType element;  ///< of a scalar, a tensor or an array
    /// Of a tensor or an array; empty for a scalar. Sizes of -1: only the tensor's rank is known.
    std::vector<int64_t> shape;
    /// Ids of types: of a struct's tensors, of what is pointed to, of what a graph takes and gives.
    std::vector<uint32_t> members;
    uint32_t inputs;  ///< of a graph: how many members it takes

    bool operator==(const Type& other) const {
        return kind == other.kind && element == other.element && shape == other.shape &&
               members == other.members && inputs == other.inputs;
    }
};

/// A scalar, an array or a tensor: its elements, row-major.
struct ConstantValue {
    uint32_t type;
    std::vector<uint8_t> data;
};

/// Reads declarations; what it throws says what is wrong, not where.
class Declarations {
  public:
    /// Of `segment`'s module, whose ids are less than `bound`.
    Declarations(const std::vector<Resource>& resources, const Segment& segment,
                 const SegmentCode& code, uint32_t bound);

    /// Takes one instruction; false if it declares nothing that is known here.
    bool read(const Instruction& instruction);

    /// Notes that an instruction defines `id`.
    void define(uint32_t id);

    const Type& type(uint32_t id) const;
    const Type& type(uint32_t id, Type::Kind kind) const;
    /// Null if `id` is no constant.
    const ConstantValue* constant(uint32_t id) const;
    /// The elements of a constant. Those of a tensor leave this, so that no later constant may be
    /// made of it.
    std::vector<uint8_t> take(uint32_t id);
    /// A constant integer of 32 bits that is not negative.
    uint32_t index(uint32_t id) const;
    /// A variable's resource. Throws Error if the segment binds none, or if it does not hold a
    /// tensor of this type.
    uint32_t resource(uint32_t variable, uint32_t tensor_type) const;
    /// Throws Error unless a resource holds tensors of this type.
    void check_resource(uint32_t resource, ElementType element,
                        const std::vector<int64_t>& shape) const;

  private:
    void add_type(uint32_t id, Type type);
    void read_scalar_type(const Instruction& instruction);
    void read_tensor_type(const Instruction& instruction);
    void read_array_type(const Instruction& instruction);
    void read_group_type(const Instruction& instruction);
    void read_variable(const Instruction& instruction);
    void read_scalar(const Instruction& instruction);
    void read_composite(const Instruction& instruction);
    void read_replicated(const Instruction& instruction);
    void read_graph_constant(const Instruction& instruction);
    void add_constant(uint32_t id, uint32_t type, std::vector<uint8_t> data);
    /// The bytes of a constant that the module spells out, which count towards the limit.
    uint64_t inline_bytes(const Type& type);

    struct GraphConstant {
        uint32_t resource;
        const void* data;
    };

    const std::vector<Resource>& resources_;
    const Segment& segment_;
    bool sample_;
    uint32_t bound_;
    uint64_t inline_bytes_ = 0;
    uint64_t graph_constant_bytes_ = 0;
    std::unordered_map<uint32_t, GraphConstant> graph_constants_;
    std::unordered_set<uint32_t> defined_;
    std::unordered_map<uint32_t, Type> types_;
    std::unordered_map<uint32_t, ConstantValue> constants_;
    std::unordered_map<uint32_t, uint32_t> variables_;  ///< the types they point to
    std::unordered_map<uint32_t, uint32_t> sets_;
    std::unordered_map<uint32_t, uint32_t> bindings_;
};

/// Of a scalar, a tensor or an array. Throws Error: of a tensor whose rank alone is known.
uint64_t bytes_of(const Type& type);
/// Throws Error if a tensor has a size less than 1, or too many bytes.
void check_size(ElementType element, const std::vector<int64_t>& shape);
const char* name_of(Type::Kind kind);

/// "fp32[1, 8]".
std::string type_text(ElementType element, const std::vector<int64_t>& shape);

}  // namespace arm_runtime::vgf
