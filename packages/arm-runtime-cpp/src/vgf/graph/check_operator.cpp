#include "check_operator.hpp"

#include <algorithm>
#include <optional>

#include "../shape_text.hpp"
#include "../unknown_sizes.hpp"
#include "declarations.hpp"
#include "operator_table.hpp"

namespace arm_runtime::vgf {
namespace {

/// The parts of a text between separators, without spaces around them.
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const size_t end = std::min(text.find(separator), text.size());
        std::string_view part = text.substr(0, end);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        if (!part.empty()) parts.push_back(part);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

bool begins(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

/// The number at the end of a kind, a single digit.
int64_t digit(std::string_view kind) { return kind.back() - '0'; }

/// One operand against its kind in the table.
class OperandCheck {
  public:
    OperandCheck(const Graph& graph, const Operator& op, size_t index, std::string_view name)
        : graph_(graph), op_(op), index_(index), name_(name), tensor_(graph.operand(op, index)) {}

    /// The name of the type that counts in a signature; nothing if it does not.
    std::optional<std::string> check(std::string_view kind) const {
        if (kind.empty()) {
            require(!tensor_.shape.empty(), name_ + " is no tensor");
            return name_of(tensor_.type);
        }
        require(tensor_.constant, name_ + " must be a constant");
        if (kind == "scalar" || begins(kind, "enum") || kind == "acc") {
            check_type(ElementType::kInt32, {});
            if (begins(kind, "enum")) check_range(values(), 1, digit(kind), name_.c_str());
            if (kind == "acc") return accumulator();
            return std::nullopt;
        }
        if (kind == "flag") {
            check_type(ElementType::kBool, {});
            return std::nullopt;
        }
        if (kind == "list" || begins(kind, "ints")) {
            const bool fixed = kind != "list";
            require(tensor_.shape.size() == 1,
                    name_ + " must have rank 1, and has shape " + shape_text(tensor_.shape));
            check_type(ElementType::kInt32, fixed ? Shape{digit(kind)} : tensor_.shape);
            return std::nullopt;
        }
        if (kind == "value") {
            require(tensor_.shape.empty(), name_ + " must be a number, not a tensor");
        } else {
            require(!tensor_.shape.empty(), name_ + " is no tensor");
        }
        if (kind == "one" || kind == "zero") check_type(tensor_.type, {1});
        if (kind == "zero" && tensor_.type != ElementType::kInt8) {
            const bool zero = std::all_of(tensor_.data.begin(), tensor_.data.end(),
                                          [](uint8_t byte) { return byte == 0; });
            require(zero, name_ + " of " + name_of(tensor_.type) + " must be 0");
        }
        if (kind == "other") return std::nullopt;
        return name_of(tensor_.type);
    }

  private:
    Shape values() const { return graph_.integers(op_, index_); }

    void check_type(ElementType type, const Shape& shape) const {
        require(tensor_.type == type && tensor_.shape == shape,
                name_ + " must be " + name_of(type) + shape_text(shape) + ", and is " +
                    name_of(tensor_.type) + shape_text(tensor_.shape));
    }

    std::string accumulator() const {
        static constexpr ElementType kTypes[] = {ElementType::kInt32, ElementType::kFloat16,
                                                 ElementType::kFloat32, ElementType::kInt48};
        check_range(values(), 1, 4, name_.c_str());
        return name_of(kTypes[values()[0] - 1]);
    }

    const Graph& graph_;
    const Operator& op_;
    size_t index_;
    std::string name_;
    const Tensor& tensor_;
};

bool matches(const std::vector<std::string>& signature, std::string_view rows) {
    if (rows[0] == '=') {
        const bool same =
            std::all_of(signature.begin(), signature.end(),
                        [&](const std::string& type) { return type == signature[0]; });
        const auto types = split(rows.substr(1), ' ');
        return same && std::find(types.begin(), types.end(), signature[0]) != types.end();
    }
    const auto all = split(rows, ';');
    return std::any_of(all.begin(), all.end(), [&](std::string_view row) {
        const auto types = split(row, ' ');
        return std::equal(types.begin(), types.end(), signature.begin(), signature.end());
    });
}

/// Checks all but the shapes of results, which it returns.
Shapes result_shapes(const Graph& graph, const Operator& op) {
    const OperatorRow& row = operator_row(op.opcode);
    const std::vector<std::string_view> words = split(row.operands, ' ');
    const bool variadic = words.back().back() == '*';
    require(variadic ? op.operands.size() >= words.size() : op.operands.size() == words.size(),
            "it takes " + std::to_string(words.size()) +
                (variadic ? " operands or more" : " operands") + " (" + row.operands +
                "), and has " + std::to_string(op.operands.size()));

    std::vector<std::string_view> names;
    std::vector<std::string> signature;
    for (size_t i = 0; i < words.size(); ++i) {
        const size_t colon = words[i].find(':');
        std::string_view name = words[i].substr(0, colon);
        if (name.back() == '*') name.remove_suffix(1);
        const std::string_view kind =
            colon == std::string_view::npos ? std::string_view() : words[i].substr(colon + 1);
        names.push_back(name);
        if (auto type = OperandCheck(graph, op, i, name).check(kind)) {
            signature.push_back(std::move(*type));
        }
    }
    for (const uint32_t result : op.results)
        signature.emplace_back(name_of(graph.tensors[result].type));
    std::string given;
    for (const std::string& type : signature) given += (given.empty() ? "" : " ") + type;
    require(matches(signature, row.types),
            "its types are " + given + "; TOSA has " + std::string(row.types));

    Shapes shapes = row.check(Operands(graph, op, std::move(names)));
    require(shapes.size() == op.results.size(), "it has " + std::to_string(shapes.size()) +
                                                    " results, and the code takes " +
                                                    std::to_string(op.results.size()));
    return shapes;
}

void check_result(const Shape& computed, const Shape& declared) {
    // SPIR-V has no tensors of rank 0.
    require(declared == computed || (computed.empty() && declared == Shape{1}),
            "its result has shape " + shape_text(computed) + ", and the code says " +
                shape_text(declared));
}

}  // namespace

void check_operator(const Graph& graph, const Operator& op) {
    const Shapes shapes = result_shapes(graph, op);
    for (size_t i = 0; i < shapes.size(); ++i) check_result(shapes[i], graph.result(op, i).shape);
}

void infer_operator(Graph& graph, const Operator& op) {
    Shapes shapes = result_shapes(graph, op);
    for (size_t i = 0; i < shapes.size(); ++i) {
        Tensor& result = graph.tensors[op.results[i]];
        if (is_open(result.shape)) {
            if (shapes[i].empty()) shapes[i] = {1};
            check_size(result.type, shapes[i]);
            if (may_be_one(shapes[i], result.shape)) result.shape = shapes[i];
        }
        check_result(shapes[i], result.shape);
    }
}

}  // namespace arm_runtime::vgf
