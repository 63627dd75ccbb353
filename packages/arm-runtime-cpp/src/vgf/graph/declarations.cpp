#include "declarations.hpp"

#include <cstring>
#include <optional>
#include <spirv/unified1/spirv.hpp>

#include "../shape_text.hpp"
#include "../unknown_sizes.hpp"
#include "../vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;  // of a tensor; the limit of VGF resources
constexpr size_t kMaxRank = 6;                     // MAX_RANK of TOSA level 8K

std::string text(uint64_t number) { return std::to_string(number); }

std::optional<ElementType> element_of(VkFormat format) {
    switch (static_cast<int32_t>(format)) {
        case kFormatBool:
            return ElementType::kBool;
        case VK_FORMAT_R8_SINT:
        case VK_FORMAT_R8_UINT:
            return ElementType::kInt8;
        case VK_FORMAT_R16_SINT:
        case VK_FORMAT_R16_UINT:
            return ElementType::kInt16;
        case VK_FORMAT_R32_SINT:
        case VK_FORMAT_R32_UINT:
            return ElementType::kInt32;
        case VK_FORMAT_R64_SINT:
            return ElementType::kInt48;
        case VK_FORMAT_R16_SFLOAT:
            return ElementType::kFloat16;
        case kFormatBFloat16:
            return ElementType::kBFloat16;
        case VK_FORMAT_R32_SFLOAT:
            return ElementType::kFloat32;
        case kFormatFloat8E4M3:
            return ElementType::kFloat8E4M3;
        case kFormatFloat8E5M2:
            return ElementType::kFloat8E5M2;
        default:
            return std::nullopt;
    }
}

std::optional<ElementType> integer_of(uint32_t bits) {
    switch (bits) {
        case 8:
            return ElementType::kInt8;
        case 16:
            return ElementType::kInt16;
        case 32:
            return ElementType::kInt32;
        case 64:
            return ElementType::kInt48;
        default:
            return std::nullopt;
    }
}

std::optional<ElementType> float_of(uint32_t bits, std::optional<uint32_t> encoding) {
    if (!encoding) {
        if (bits == 16) return ElementType::kFloat16;
        if (bits == 32) return ElementType::kFloat32;
    } else if (bits == 16 && *encoding == spv::FPEncodingBFloat16KHR) {
        return ElementType::kBFloat16;
    } else if (bits == 8 && *encoding == spv::FPEncodingFloat8E4M3EXT) {
        return ElementType::kFloat8E4M3;
    } else if (bits == 8 && *encoding == spv::FPEncodingFloat8E5M2EXT) {
        return ElementType::kFloat8E5M2;
    }
    return std::nullopt;
}

}  // namespace

uint64_t bytes_of(const Type& type) {
    if (is_open(type.shape)) throw Error("a constant whose rank alone is known");
    uint64_t bytes = size_of(type.element);
    for (const int64_t size : type.shape) bytes *= static_cast<uint64_t>(size);
    return bytes;
}

void check_size(ElementType element, const std::vector<int64_t>& shape) {
    uint64_t bytes = size_of(element);
    for (const int64_t size : shape) {
        if (size < 1 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) ||
            bytes > kMaxBytes) {
            throw Error("a tensor of shape " + shape_text(shape) + ": out of range");
        }
    }
}

const char* name_of(Type::Kind kind) {
    static constexpr const char* kNames[] = {"scalar", "tensor",  "array",
                                             "struct", "pointer", "graph"};
    return kNames[static_cast<size_t>(kind)];
}

std::string type_text(ElementType element, const std::vector<int64_t>& shape) {
    return name_of(element) + shape_text(shape);
}

Declarations::Declarations(const std::vector<Resource>& resources, const Segment& segment,
                           const SegmentCode& code, uint32_t bound)
    : resources_(resources), segment_(segment), sample_(code.sample), bound_(bound) {
    const std::vector<Constant>& constants = std::get<GraphSegment>(segment.kind).constants;
    for (size_t i = 0; i < constants.size(); ++i) {
        graph_constants_[constants[i].id] = {constants[i].resource, code.constants[i]};
    }
}

bool Declarations::read(const Instruction& instruction) {
    switch (instruction.opcode()) {
        case spv::OpDecorate:
            if (instruction[2] == spv::DecorationBinding)
                bindings_[instruction[1]] = instruction[3];
            if (instruction[2] == spv::DecorationDescriptorSet) {
                sets_[instruction[1]] = instruction[3];
            }
            return true;
        case spv::OpTypeBool:
        case spv::OpTypeInt:
        case spv::OpTypeFloat:
            read_scalar_type(instruction);
            return true;
        case spv::OpTypeTensorARM:
            read_tensor_type(instruction);
            return true;
        case spv::OpTypeArray:
            read_array_type(instruction);
            return true;
        case spv::OpTypeStruct:
        case spv::OpTypePointer:
        case spv::OpTypeGraphARM:
            read_group_type(instruction);
            return true;
        case spv::OpVariable:
            read_variable(instruction);
            return true;
        case spv::OpConstant:
        case spv::OpConstantTrue:
        case spv::OpConstantFalse:
            read_scalar(instruction);
            return true;
        case spv::OpConstantNull: {
            instruction.check_count(3);
            add_constant(instruction[2], instruction[1],
                         std::vector<uint8_t>(inline_bytes(type(instruction[1]))));
            return true;
        }
        case spv::OpConstantComposite:
            read_composite(instruction);
            return true;
        case spv::OpConstantCompositeReplicateEXT:
            read_replicated(instruction);
            return true;
        case spv::OpGraphConstantARM:
            read_graph_constant(instruction);
            return true;
        default:
            return false;
    }
}

void Declarations::define(uint32_t id) {
    if (id == 0 || id >= bound_) {
        throw Error("id " + text(id) + " is outside of the module's bound " + text(bound_));
    }
    if (!defined_.insert(id).second) throw Error("id " + text(id) + " is defined twice");
}

const Type& Declarations::type(uint32_t id) const {
    const auto found = types_.find(id);
    if (found == types_.end()) throw Error("id " + text(id) + " is no type defined before");
    return found->second;
}

const Type& Declarations::type(uint32_t id, Type::Kind kind) const {
    const Type& found = type(id);
    if (found.kind != kind) {
        throw Error("type " + text(id) + " is of the kind " + name_of(found.kind) + ", not " +
                    name_of(kind));
    }
    return found;
}

uint32_t Declarations::resource(uint32_t variable, uint32_t tensor_type) const {
    const std::string what = "variable " + text(variable);
    const auto found = variables_.find(variable);
    const auto set = sets_.find(variable);
    const auto binding = bindings_.find(variable);
    if (found == variables_.end() || set == sets_.end() || binding == bindings_.end()) {
        throw Error(what + " is not one that has a descriptor set and a binding");
    }
    const Type& declared = type(tensor_type, Type::Kind::kTensor);
    if (!(type(found->second) == declared)) {
        throw Error(what + " has another type than the graph, " +
                    type_text(declared.element, declared.shape));
    }
    for (const Binding& b : segment_.bindings) {
        if (b.set != set->second || b.binding != binding->second) continue;
        check_resource(b.resource, declared.element, declared.shape);
        return b.resource;
    }
    throw Error(what + ": the segment binds nothing to set " + text(set->second) + ", binding " +
                text(binding->second));
}

void Declarations::check_resource(uint32_t resource, ElementType element,
                                  const std::vector<int64_t>& shape) const {
    const Resource& r = resources_[resource];
    const auto held = element_of(r.format);
    // Vulkan has no tensors of rank 0.
    const bool same_shape =
        may_be_one(r.shape, shape) || (shape.empty() && r.shape == std::vector<int64_t>{1});
    const bool fits = same_shape || (sample_ && r.shape.size() == shape.size());
    if (held != element || !fits) {
        throw Error("resource " + text(resource) + " is " +
                    (held ? vgf::name_of(*held) : "of another format ") + shape_text(r.shape) +
                    ", and the code wants " + type_text(element, shape));
    }
}

void Declarations::add_type(uint32_t id, Type type) {
    define(id);
    types_.emplace(id, std::move(type));
}

void Declarations::read_scalar_type(const Instruction& instruction) {
    std::optional<ElementType> element;
    if (instruction.opcode() == spv::OpTypeBool) {
        instruction.check_count(2);
        element = ElementType::kBool;
    } else if (instruction.opcode() == spv::OpTypeInt) {
        instruction.check_count(4);
        element = integer_of(instruction[2]);
    } else {
        const bool encoded = instruction.count() > 3;
        instruction.check_count(encoded ? 4 : 3);
        element = float_of(instruction[2],
                           encoded ? std::optional<uint32_t>(instruction[3]) : std::nullopt);
    }
    if (!element) {
        throw Error(instruction.name() + " of " + text(instruction[2]) +
                    " bits: not a type of this runtime");
    }
    add_type(instruction[1], {Type::Kind::kScalar, *element, {}, {}, 0});
}

void Declarations::read_tensor_type(const Instruction& instruction) {
    const bool ranked = instruction.count() == 4;
    if (!ranked) instruction.check_count(5);
    const Type& element = type(instruction[2], Type::Kind::kScalar);
    const uint32_t rank = index(instruction[3]);
    if (rank > kMaxRank) throw Error("a tensor of rank " + text(rank) + "; 6 is the most");
    Type tensor{Type::Kind::kTensor, element.element, {}, {}, 0};
    if (ranked) {
        tensor.shape.assign(rank, -1);
        add_type(instruction[1], std::move(tensor));
        return;
    }
    const ConstantValue* const sizes = constant(instruction[4]);
    if (sizes == nullptr) throw Error("a tensor whose shape is no constant");
    const Type& list = type(sizes->type);
    if (list.kind != Type::Kind::kArray || list.element != ElementType::kInt32 ||
        list.shape[0] != rank) {
        throw Error("a tensor of rank " + text(rank) + " whose shape is no array of so many i32");
    }
    for (size_t i = 0; i < rank; ++i) {
        int32_t size = 0;
        std::memcpy(&size, sizes->data.data() + i * sizeof(size), sizeof(size));
        tensor.shape.push_back(size);
    }
    check_size(tensor.element, tensor.shape);
    add_type(instruction[1], std::move(tensor));
}

void Declarations::read_array_type(const Instruction& instruction) {
    instruction.check_count(4);
    const Type& element = type(instruction[2], Type::Kind::kScalar);
    const uint32_t length = index(instruction[3]);
    if (length < 1) throw Error("an array without elements");
    add_type(instruction[1], {Type::Kind::kArray, element.element, {length}, {}, 0});
}

/// Types that are made of others: structs of tensors, pointers to tensors, graphs.
void Declarations::read_group_type(const Instruction& instruction) {
    Type made{Type::Kind::kStruct, ElementType::kBool, {}, {}, 0};
    size_t first = 2;
    if (instruction.opcode() == spv::OpTypePointer) {
        instruction.check_count(4);
        if (instruction[2] != spv::StorageClassUniformConstant) {
            throw Error("a pointer of storage class " + text(instruction[2]) +
                        "; tensors are in UniformConstant");
        }
        made.kind = Type::Kind::kPointer;
        first = 3;
    } else if (instruction.opcode() == spv::OpTypeGraphARM) {
        made.kind = Type::Kind::kGraph;
        made.inputs = instruction[2];
        first = 3;
    }
    made.members = instruction.from(first);
    for (const uint32_t member : made.members) type(member, Type::Kind::kTensor);
    if (made.inputs > made.members.size()) {
        throw Error("a graph type of " + text(made.inputs) + " inputs with " +
                    text(made.members.size()) + " tensors in all");
    }
    add_type(instruction[1], std::move(made));
}

void Declarations::read_variable(const Instruction& instruction) {
    instruction.check_count(4);
    const Type& pointer = type(instruction[1], Type::Kind::kPointer);
    if (instruction[3] != spv::StorageClassUniformConstant) {
        throw Error("a variable of storage class " + text(instruction[3]) +
                    "; tensors are in UniformConstant");
    }
    define(instruction[2]);
    variables_.emplace(instruction[2], pointer.members[0]);
}

}  // namespace arm_runtime::vgf
