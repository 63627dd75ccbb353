#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "../shape_text.hpp"
#include "../unknown_sizes.hpp"
#include "check_operator.hpp"
#include "declarations.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr size_t kHeaderWords = 5;
constexpr const char* kInstructionSet = "TOSA.001000.1";
constexpr const char* kIgnoredSets = "NonSemantic.";  // SPV_KHR_non_semantic_info

std::string text(uint64_t number) { return std::to_string(number); }

/// What neither declares nor computes anything.
bool is_ignored(uint32_t opcode) {
    switch (opcode) {
        case spv::OpNop:
        case spv::OpSourceContinued:
        case spv::OpSource:
        case spv::OpSourceExtension:
        case spv::OpName:
        case spv::OpMemberName:
        case spv::OpLine:
        case spv::OpNoLine:
        case spv::OpModuleProcessed:
        case spv::OpExtension:
        case spv::OpCapability:
        case spv::OpMemoryModel:
            return true;
        default:
            return false;
    }
}

class Reader {
  public:
    Reader(const std::vector<Resource>& resources, const Segment& segment, const SegmentCode& code)
        : resources_(resources),
          code_(code),
          declared_(resources, segment, code,
                    code.count < kHeaderWords ? 0 : code.words[kHeaderWords - 2]) {}

    Graph read() {
        if (code_.count < kHeaderWords || code_.words[0] != spv::MagicNumber) {
            throw Error("its code is not SPIR-V");
        }
        for (size_t at = kHeaderWords; at < code_.count;) {
            const size_t length = code_.words[at] >> 16;
            if (length == 0 || length > code_.count - at) {
                throw Error("the SPIR-V instruction at word " + text(at) + " has length " +
                            text(length));
            }
            read(Instruction(code_.words + at, length));
            at += length;
        }
        if (state_ != State::kDone) {
            throw Error("its code has no whole graph for the entry point '" + code_.entry_point +
                        "'");
        }
        return std::move(graph_);
    }

  private:
    enum class State : uint8_t { kBefore, kWithin, kSkipping, kDone };

    /// What an id of a graph stands for: a tensor, or the several results of an operator.
    struct Value {
        bool composite;
        std::vector<uint32_t> tensors;
    };

    void read(const Instruction& i) {
        if (is_ignored(i.opcode())) return;
        switch (i.opcode()) {
            case spv::OpString:
                declared_.define(i[1]);
                return;
            case spv::OpExtInstImport:
                declared_.define(i[1]);
                sets_[i[1]] = i.literal(2).first;
                return;
            case spv::OpGraphEntryPointARM:
                read_entry_point(i);
                return;
            case spv::OpGraphARM:
                begin(i);
                return;
            case spv::OpGraphInputARM:
            case spv::OpGraphSetOutputARM:
            case spv::OpGraphEndARM:
            case spv::OpCompositeExtract:
            case spv::OpCompositeConstruct:
                if (state_ == State::kBefore || state_ == State::kDone) {
                    throw Error(i.name() + " outside of a graph");
                }
                read_within(i);
                return;
            case spv::OpExtInst:
                read_call(i);
                return;
            default:
                if (state_ != State::kBefore || !declared_.read(i)) {
                    throw Error(i.name() + " is nothing that a graph of this runtime may have");
                }
        }
    }

    void read_entry_point(const Instruction& i) {
        const auto [name, next] = i.literal(2);
        if (name != code_.entry_point) return;
        if (entry_) throw Error("its code has the entry point '" + name + "' twice");
        entry_ = i[1];
        interface_ = i.from(next);
    }

    void begin(const Instruction& i) {
        i.check_count(3);
        if (state_ == State::kWithin || state_ == State::kSkipping) {
            throw Error("a graph within a graph");
        }
        declared_.define(i[2]);
        const Type& type = declared_.type(i[1], Type::Kind::kGraph);
        if (entry_ != i[2]) {
            after_ = state_;
            state_ = State::kSkipping;
            return;
        }
        if (interface_.size() != type.members.size()) {
            throw Error("the entry point has " + text(interface_.size()) +
                        " variables, and its graph takes and gives " + text(type.members.size()) +
                        " tensors");
        }
        type_ = &type;
        state_ = State::kWithin;
    }

    void read_within(const Instruction& i) {
        if (i.opcode() == spv::OpGraphEndARM) {
            if (state_ == State::kWithin) finish();
            state_ = state_ == State::kWithin ? State::kDone : after_;
        } else if (state_ == State::kSkipping) {
            if (i.opcode() != spv::OpGraphSetOutputARM) declared_.define(i[2]);
        } else if (i.opcode() == spv::OpGraphInputARM) {
            read_input(i);
        } else if (i.opcode() == spv::OpGraphSetOutputARM) {
            read_output(i);
        } else if (i.opcode() == spv::OpCompositeExtract) {
            read_extract(i);
        } else {
            read_construct(i);
        }
    }

    void read_input(const Instruction& i) {
        i.check_count(4);  // longer ones are elements of arrays of tensors
        const uint32_t index = declared_.index(i[3]);
        if (index >= type_->inputs) {
            throw Error("graph input " + text(index) + " of " + text(type_->inputs));
        }
        if (!inputs_.insert(index).second)
            throw Error("graph input " + text(index) + " is read twice");
        const uint32_t tensor = add_tensor(i[1]);
        const std::string what = "graph input " + text(index);
        check_port(tensor, type_->members[index], what);
        const uint32_t resource = declared_.resource(interface_[index], type_->members[index]);
        std::vector<int64_t>& shape = graph_.tensors[tensor].shape;
        if (is_open(shape)) shape = resources_[resource].shape;
        if (is_open(shape)) throw Error(what + " has the unknown size " + shape_text(shape));
        graph_.inputs.push_back({tensor, resource});
        define(i[2], {false, {tensor}});
    }

    void read_output(const Instruction& i) {
        i.check_count(3);
        const uint32_t index = declared_.index(i[2]);
        const auto count = static_cast<uint32_t>(type_->members.size()) - type_->inputs;
        if (index >= count) throw Error("graph output " + text(index) + " of " + text(count));
        const uint32_t type = type_->members[type_->inputs + index];
        const uint32_t tensor = tensor_of(i[1]);
        check_port(tensor, type, "graph output " + text(index));
        const uint32_t resource = declared_.resource(interface_[type_->inputs + index], type);
        const Tensor& given = graph_.tensors[tensor];
        declared_.check_resource(resource, given.type, given.shape);
        if (!outputs_.emplace(index, GraphPort{tensor, resource}).second) {
            throw Error("graph output " + text(index) + " is set twice");
        }
    }

    void check_port(uint32_t tensor, uint32_t type, const std::string& what) const {
        const Tensor& given = graph_.tensors[tensor];
        const Type& wanted = declared_.type(type, Type::Kind::kTensor);
        if (given.type != wanted.element || !may_be_one(given.shape, wanted.shape)) {
            throw Error(what + " is " + type_text(given.type, given.shape) +
                        ", and the graph's type says " + type_text(wanted.element, wanted.shape));
        }
    }

    /// Outputs may share memory with inputs, and with another output if both are the same tensor.
    void finish() {
        const auto count = static_cast<uint32_t>(type_->members.size()) - type_->inputs;
        std::map<uint32_t, uint32_t> taken;
        for (uint32_t index = 0; index < count; ++index) {
            const auto found = outputs_.find(index);
            if (found == outputs_.end()) throw Error("graph output " + text(index) + " is not set");
            const Resource& resource = resources_[found->second.resource];
            const bool writable =
                resource.role == Role::kOutput || resource.role == Role::kIntermediate;
            const uint32_t tensor = found->second.tensor;
            if (!writable || taken.emplace(resource.storage, tensor).first->second != tensor) {
                throw Error("graph output " + text(index) + " cannot be written to resource " +
                            text(found->second.resource) + ", " +
                            (writable ? "whose memory another output takes"
                                      : "which is an input or a constant"));
            }
            graph_.outputs.push_back(found->second);
        }
    }

    void read_call(const Instruction& i) {
        const auto set = sets_.find(i[3]);
        if (set == sets_.end()) throw Error("id " + text(i[3]) + " is no instruction set");
        if (set->second.rfind(kIgnoredSets, 0) == 0 || state_ == State::kSkipping) {
            declared_.define(i[2]);
            return;
        }
        if (set->second != kInstructionSet) {
            throw Error("instructions of '" + set->second.substr(0, 64) + "'; those of " +
                        kInstructionSet + " belong in a graph");
        }
        if (state_ != State::kWithin) throw Error(i.name() + " outside of a graph");
        Operator op{i[4], {}, {}};
        const std::string what = "operator " + text(graph_.operators.size());
        std::string name;
        try {
            name = std::string(" (") + opcode_name(op.opcode) + ")";
            for (const uint32_t id : i.from(5)) op.operands.push_back(tensor_of(id));
            const Type& type = declared_.type(i[1]);
            Value value{type.kind == Type::Kind::kStruct, {}};
            if (value.composite) {
                for (const uint32_t member : type.members)
                    value.tensors.push_back(add_tensor(member));
            } else {
                value.tensors.push_back(add_tensor(i[1]));
            }
            op.results = value.tensors;
            infer_operator(graph_, op);
            define(i[2], std::move(value));
        } catch (const Error& error) {
            throw Error(what + name + ": " + error.what());
        }
        graph_.operators.push_back(std::move(op));
    }

    void read_extract(const Instruction& i) {
        i.check_count(5);
        const auto found = values_.find(i[3]);
        if (found == values_.end() || !found->second.composite ||
            i[4] >= found->second.tensors.size()) {
            throw Error("OpCompositeExtract: id " + text(i[3]) + " has no member " + text(i[4]));
        }
        const uint32_t tensor = found->second.tensors[i[4]];
        check_port(tensor, i[1], "member " + text(i[4]) + " of id " + text(i[3]));
        define(i[2], {false, {tensor}});
    }

    void read_construct(const Instruction& i) {
        const Type& type = declared_.type(i[1], Type::Kind::kStruct);
        const std::vector<uint32_t> parts = i.from(3);
        Value value{true, {}};
        if (parts.size() != type.members.size()) {
            throw Error("OpCompositeConstruct: " + text(parts.size()) + " parts for " +
                        text(type.members.size()) + " members");
        }
        for (size_t k = 0; k < parts.size(); ++k) {
            const uint32_t tensor = tensor_of(parts[k]);
            check_port(tensor, type.members[k], "member " + text(k) + " of id " + text(i[2]));
            value.tensors.push_back(tensor);
        }
        define(i[2], std::move(value));
    }

    void define(uint32_t id, Value value) {
        declared_.define(id);
        values_.emplace(id, std::move(value));
    }

    uint32_t add_tensor(uint32_t type) {
        const Type& tensor = declared_.type(type, Type::Kind::kTensor);
        graph_.tensors.push_back({tensor.element, tensor.shape, false, {}});
        return static_cast<uint32_t>(graph_.tensors.size() - 1);
    }

    /// The tensor that an id stands for; a constant becomes one when it is first used.
    uint32_t tensor_of(uint32_t id) {
        const auto found = values_.find(id);
        if (found != values_.end()) {
            if (found->second.composite) throw Error("id " + text(id) + " is several tensors");
            return found->second.tensors[0];
        }
        const ConstantValue* const constant = declared_.constant(id);
        if (constant == nullptr) throw Error("id " + text(id) + " is no value defined before");
        const Type& type = declared_.type(constant->type);
        if (type.kind == Type::Kind::kArray)
            throw Error("id " + text(id) + " is an array, no tensor");
        graph_.tensors.push_back({type.element, type.shape, true, declared_.take(id)});
        const auto tensor = static_cast<uint32_t>(graph_.tensors.size() - 1);
        values_.emplace(id, Value{false, {tensor}});
        return tensor;
    }

    const std::vector<Resource>& resources_;
    const SegmentCode& code_;
    Declarations declared_;
    Graph graph_;
    State state_ = State::kBefore;
    State after_ = State::kBefore;  // a graph that is skipped
    std::optional<uint32_t> entry_;
    std::vector<uint32_t> interface_;
    const Type* type_ = nullptr;
    std::map<uint32_t, std::string> sets_;
    std::unordered_map<uint32_t, Value> values_;
    std::set<uint32_t> inputs_;
    std::map<uint32_t, GraphPort> outputs_;
};

}  // namespace

Graph read_graph(const std::vector<Resource>& resources, const Segment& segment,
                 const SegmentCode& code, const std::string& where) {
    try {
        return Reader(resources, segment, code).read();
    } catch (const Error& error) {
        throw Error(where + ": " + error.what());
    }
}

Graph read_graph(const ParsedFile& file, size_t segment) {
    const Segment& read = file.program.segments[segment];
    return read_graph(file.program.resources, read, file.code[segment], text_of(read, segment));
}

}  // namespace arm_runtime::vgf
