// The constants of a SPIR-V module.
#include <algorithm>
#include <cstring>
#include <spirv/unified1/spirv.hpp>

#include "declarations.hpp"

namespace arm_runtime::vgf {
namespace {

// A module spells out small constants only; larger ones are in the VGF. A few words can ask for
// many bytes, and so can a VGF that binds one constant often.
constexpr uint64_t kMaxInlineBytes = uint64_t{1} << 26;
constexpr uint64_t kMaxGraphConstantBytes = uint64_t{1} << 32;

std::string text(uint64_t number) { return std::to_string(number); }

/// Whether a constant may have this type.
bool has_elements(const Type& type) {
    return type.kind == Type::Kind::kScalar || type.kind == Type::Kind::kTensor ||
           type.kind == Type::Kind::kArray;
}

}  // namespace

const ConstantValue* Declarations::constant(uint32_t id) const {
    const auto found = constants_.find(id);
    return found == constants_.end() ? nullptr : &found->second;
}

uint32_t Declarations::index(uint32_t id) const {
    const ConstantValue* const found = constant(id);
    if (found == nullptr) throw Error("id " + text(id) + " is no constant defined before");
    const Type& scalar = type(found->type);
    int32_t value = -1;
    if (scalar.kind == Type::Kind::kScalar && scalar.element == ElementType::kInt32) {
        std::memcpy(&value, found->data.data(), sizeof(value));
    }
    if (value < 0) throw Error("constant " + text(id) + " is no index: no i32 from 0 on");
    return static_cast<uint32_t>(value);
}

std::vector<uint8_t> Declarations::take(uint32_t id) {
    ConstantValue& value = constants_.at(id);
    if (type(value.type).kind != Type::Kind::kTensor) return value.data;
    return std::move(value.data);
}

void Declarations::add_constant(uint32_t id, uint32_t type, std::vector<uint8_t> data) {
    define(id);
    constants_.emplace(id, ConstantValue{type, std::move(data)});
}

uint64_t Declarations::inline_bytes(const Type& type) {
    if (!has_elements(type)) {
        throw Error(std::string("a constant of a ") + name_of(type.kind) + " type");
    }
    const uint64_t bytes = bytes_of(type);
    if (bytes > kMaxInlineBytes || inline_bytes_ + bytes > kMaxInlineBytes) {
        throw Error("constants in the code of more than " + text(kMaxInlineBytes) + " bytes");
    }
    inline_bytes_ += bytes;
    return bytes;
}

void Declarations::read_scalar(const Instruction& instruction) {
    const Type& scalar = type(instruction[1], Type::Kind::kScalar);
    const bool is_bool = instruction.opcode() != spv::OpConstant;
    if (is_bool != (scalar.element == ElementType::kBool)) {
        throw Error(instruction.name() + " of " + vgf::name_of(scalar.element));
    }
    std::vector<uint8_t> data(inline_bytes(scalar));
    if (is_bool) {
        instruction.check_count(3);
        data[0] = instruction.opcode() == spv::OpConstantTrue ? 1 : 0;
    } else {
        instruction.check_count(data.size() > sizeof(uint32_t) ? 5 : 4);
        const std::vector<uint32_t> words = instruction.from(3);
        std::memcpy(data.data(), words.data(), data.size());
    }
    add_constant(instruction[2], instruction[1], std::move(data));
}

void Declarations::read_composite(const Instruction& instruction) {
    const Type& whole = type(instruction[1]);
    const uint64_t bytes = inline_bytes(whole);
    const std::vector<uint32_t> parts = instruction.from(3);
    if (whole.shape.empty() || parts.size() != static_cast<uint64_t>(whole.shape[0])) {
        throw Error("a constant " + type_text(whole.element, whole.shape) + " of " +
                    text(parts.size()) + " parts");
    }
    const std::vector<int64_t> inner(whole.shape.begin() + 1, whole.shape.end());
    std::vector<uint8_t> data;
    data.reserve(bytes);
    for (const uint32_t id : parts) {
        const ConstantValue* const part = constant(id);
        if (part == nullptr) throw Error("id " + text(id) + " is no constant defined before");
        const Type& given = type(part->type);
        const bool fits = inner.empty() ? given.kind == Type::Kind::kScalar
                                        : given.kind == whole.kind && given.shape == inner;
        if (!fits || given.element != whole.element) {
            throw Error("a constant " + type_text(whole.element, whole.shape) + " with a part " +
                        type_text(given.element, given.shape));
        }
        data.insert(data.end(), part->data.begin(), part->data.end());
    }
    add_constant(instruction[2], instruction[1], std::move(data));
}

void Declarations::read_replicated(const Instruction& instruction) {
    instruction.check_count(4);
    const Type& whole = type(instruction[1]);
    const ConstantValue* const part = constant(instruction[3]);
    if (part == nullptr)
        throw Error("id " + text(instruction[3]) + " is no constant defined before");
    const Type& given = type(part->type);
    // The part is repeated along the axes that it lacks.
    const size_t rank = given.shape.size();
    if (whole.shape.size() <= rank || given.element != whole.element ||
        !std::equal(given.shape.begin(), given.shape.end(),
                    whole.shape.end() - static_cast<ptrdiff_t>(rank))) {
        throw Error("a constant " + type_text(whole.element, whole.shape) + " that repeats " +
                    type_text(given.element, given.shape));
    }
    std::vector<uint8_t> data(inline_bytes(whole));
    for (size_t at = 0; at < data.size(); at += part->data.size()) {
        std::memcpy(data.data() + at, part->data.data(), part->data.size());
    }
    add_constant(instruction[2], instruction[1], std::move(data));
}

void Declarations::read_graph_constant(const Instruction& instruction) {
    instruction.check_count(4);
    const Type& tensor = type(instruction[1], Type::Kind::kTensor);
    const std::string what = "graph constant " + text(instruction[3]);
    const auto found = graph_constants_.find(instruction[3]);
    if (found == graph_constants_.end()) throw Error(what + " is none of the segment's");
    const GraphConstant& c = found->second;
    check_resource(c.resource, tensor.element, tensor.shape);
    if (bytes_of(tensor) > resources_[c.resource].bytes) {
        throw Error(what + " is larger than its resource");
    }
    graph_constant_bytes_ += bytes_of(tensor);
    if (graph_constant_bytes_ > kMaxGraphConstantBytes) {
        throw Error("graph constants of more than " + text(kMaxGraphConstantBytes) + " bytes");
    }
    // A smaller constant of a sample is a part of the resource, which nobody reads here.
    std::vector<uint8_t> data(bytes_of(tensor), 0);
    if (data.size() == resources_[c.resource].bytes) {
        std::memcpy(data.data(), c.data, data.size());
    }
    if (tensor.element == ElementType::kBool) {
        for (uint8_t& value : data) value = value != 0 ? 1 : 0;
    }
    add_constant(instruction[2], instruction[1], std::move(data));
}

}  // namespace arm_runtime::vgf
