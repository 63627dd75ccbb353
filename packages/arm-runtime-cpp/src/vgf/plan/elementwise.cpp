#include "elementwise.hpp"

#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <limits>

#include "../kernels/steps.h"
#include "float_bits.hpp"

namespace arm_runtime::vgf {
namespace {

/// The steps of operators that are one step: on integers, and on floats (nullptr: none).
struct OneStep {
    uint32_t opcode;
    const char* integer;
    const char* floating;
};

constexpr OneStep kOneStep[] = {
    {TOSAADD, "add", "fadd"},
    {TOSASUB, "sub", "fsub"},
    {TOSAMAXIMUM, "max", "fmax"},
    {TOSAMINIMUM, "min", "fmin"},
    {TOSAABS, "abs", "fabs"},
    {TOSABITWISE_AND, "and", nullptr},
    {TOSABITWISE_OR, "or", nullptr},
    {TOSABITWISE_XOR, "xor", nullptr},
    {TOSABITWISE_NOT, "not", nullptr},
    {TOSALOGICAL_AND, "and", nullptr},
    {TOSALOGICAL_OR, "or", nullptr},
    {TOSALOGICAL_XOR, "xor", nullptr},
    {TOSALOGICAL_NOT, "logical_not", nullptr},
    {TOSALOGICAL_LEFT_SHIFT, "shift_left", nullptr},
    {TOSALOGICAL_RIGHT_SHIFT, "shift_right", nullptr},
    {TOSAARITHMETIC_RIGHT_SHIFT, "shift_right_arithmetic", nullptr},
    {TOSAINTDIV, "intdiv", nullptr},
    {TOSACLZ, "clz", nullptr},
    {TOSAEQUAL, "equal", "fequal"},
    {TOSAGREATER, "greater", "fgreater"},
    {TOSAGREATER_EQUAL, "greater_equal", "fgreater_equal"},
    {TOSASELECT, "select", "select"},
    {TOSAPOW, nullptr, "pow"},
    {TOSACEIL, nullptr, "ceil"},
    {TOSAFLOOR, nullptr, "floor"},
    {TOSAEXP, nullptr, "exp"},
    {TOSALOG, nullptr, "log"},
    {TOSASIN, nullptr, "sin"},
    {TOSACOS, nullptr, "cos"},
    {TOSATANH, nullptr, "tanh"},
    {TOSASIGMOID, nullptr, "sigmoid"},
    {TOSAERF, nullptr, "erf"},
    {TOSARECIPROCAL, nullptr, "reciprocal"},
    {TOSARSQRT, nullptr, "rsqrt"},
    // Those with more than one step, or with numbers: add_steps has a case for each.
    {TOSAMUL, nullptr, nullptr},
    {TOSACLAMP, nullptr, nullptr},
    {TOSANEGATE, nullptr, nullptr},
    {TOSATABLE, nullptr, nullptr},
    {TOSACAST, nullptr, nullptr},
    {TOSARESCALE, nullptr, nullptr},
};

const OneStep* find_step(uint32_t opcode) {
    for (const OneStep& row : kOneStep) {
        if (row.opcode == opcode) return &row;
    }
    return nullptr;
}

struct Bounds {
    int32_t low;
    int32_t high;
};

Bounds bounds_of(ElementType type) {
    if (type == ElementType::kInt8) return {-128, 127};
    if (type == ElementType::kInt16) return {-32768, 32767};
    return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

/// Whether the value of an int48 operand is read with its high words: they are in the value after.
constexpr int high_of(int value) { return value + 1; }

int add_rescale(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    constexpr int64_t kDoubleRound = 3;  // TOSA's rounding_mode
    const Tensor& input = graph.operand(op, 5);
    const Tensor& output = graph.result(op);
    const bool scale32 = graph.integer(op, 0) != 0;
    const bool per_channel = graph.integer(op, 2) != 0;
    const bool input_unsigned = graph.integer(op, 3) != 0;
    const bool output_unsigned = graph.integer(op, 4) != 0;
    const auto zero_point = [&](size_t operand, bool is_unsigned) {
        auto zero = static_cast<int32_t>(graph.integer(op, operand));
        if (is_unsigned) {
            zero &= graph.operand(op, operand).type == ElementType::kInt8 ? 0xff : 0xffff;
        }
        return zero;
    };
    const int32_t input_zero = zero_point(8, input_unsigned);
    const int32_t output_zero = zero_point(9, output_unsigned);
    Step step{"rescale"};
    step.operands[0] = value;
    if (input.type == ElementType::kInt48) {
        step.name = "rescale48";
        step.operands[1] = high_of(value);
    }
    if (scale32 && graph.integer(op, 1) == kDoubleRound) step.mode |= RESCALE_DOUBLE_ROUND;
    if (input_unsigned) step.mode |= RESCALE_INPUT_UNSIGNED;
    if (input.type == ElementType::kInt16) step.mode |= RESCALE_16_BIT;
    uint32_t to = RESCALE_TO_INT32;
    if (output.type == ElementType::kInt8)
        to = output_unsigned ? RESCALE_TO_UINT8 : RESCALE_TO_INT8;
    if (output.type == ElementType::kInt16) {
        to = output_unsigned ? RESCALE_TO_UINT16 : RESCALE_TO_INT16;
    }
    step.mode |= to << RESCALE_OUTPUT_SHIFT;
    const auto multipliers = graph.integers(op, 6);
    const auto shifts = graph.integers(op, 7);
    const auto [least, most] = std::minmax_element(shifts.begin(), shifts.end());
    if (*least > 32) step.mode |= RESCALE_FAR;
    if (*most < 32) step.mode |= RESCALE_NEAR;
    if (!per_channel || multipliers.size() == 1) {
        step.numbers = {static_cast<int32_t>(multipliers[0]), static_cast<int32_t>(shifts[0]),
                        input_zero, output_zero};
        return sink.add(step);
    }
    step.mode |= RESCALE_PER_CHANNEL;
    const size_t channels = multipliers.size();
    const size_t padded = (channels + 3) / 4 * 4;
    std::vector<int32_t> table(2 * padded);
    for (size_t i = 0; i < padded; ++i) {
        // What lies behind the last channel is computed too, and thrown away.
        table[i] = i < channels ? static_cast<int32_t>(multipliers[i]) : 0;
        table[padded + i] = static_cast<int32_t>(shifts[i < channels ? i : 0]);
    }
    const uint64_t at = sink.add_constant(table.data(), table.size() * sizeof(int32_t));
    step.numbers = {static_cast<int32_t>(at / 16), static_cast<int32_t>(channels), input_zero,
                    output_zero};
    return sink.add(step);
}

int add_clamp(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const Tensor& input = graph.operand(op, 3);
    Step step{"clamp"};
    step.operands[0] = value;
    if (is_float(input.type)) {
        step.name = "fclamp";
        step.mode = nan_mode(graph, op, 2);
        step.numbers = {float_bits(graph.operand(op, 0), 0), float_bits(graph.operand(op, 1), 0)};
    } else {
        step.numbers = {static_cast<int32_t>(graph.integer(op, 0)),
                        static_cast<int32_t>(graph.integer(op, 1))};
    }
    return sink.add(step);
}

int add_cast(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const ElementType from = graph.operand(op, 0).type;
    const ElementType to = graph.result(op).type;
    const auto add = [&](const char* name, uint32_t mode) {
        Step step{name, mode};
        step.operands[0] = value;
        return sink.add(step);
    };
    if (is_float(from) && is_float(to)) {
        if (size_of(to) == 4) return value;
        return add("fround", type_code(to));
    }
    if (is_float(from)) {
        if (to == ElementType::kBool) return add("fto_bool", 0);
        return add("to_int", type_code(to));
    }
    if (is_float(to)) return add("to_float", 0);
    if (to == ElementType::kBool) return add("to_bool", 0);
    if (size_of(to) >= size_of(from) || to == ElementType::kInt32) return value;
    return add("wrap", type_code(to));
}

int add_table(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const Tensor& table = graph.operand(op, 1);
    const bool narrow = table.type == ElementType::kInt8;
    Step step{narrow ? "table8" : "table16"};
    step.operands[0] = value;
    const uint64_t at = sink.add_constant(table.data.data(), table.data.size());
    step.numbers[0] = static_cast<int32_t>(at / size_of(table.type));
    return sink.add(step);
}

int add_mul(StepSink& sink, const Graph& graph, const Operator& op,
            const std::vector<int>& values) {
    Step step{"mul"};
    step.operands = {values[0], values[1], kNoValue};
    const ElementType type = graph.operand(op, 0).type;
    if (is_float(type)) {
        step.name = "fmul";
    } else if (type == ElementType::kInt32 && graph.integer(op, 2) > 0) {
        step.name = "mul_shift";
        step.numbers[0] = static_cast<int32_t>(graph.integer(op, 2));
    }
    return sink.add(step);
}

int add_negate(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const ElementType type = graph.operand(op, 0).type;
    Step step{is_float(type) ? "fnegate" : "negate"};
    step.operands[0] = value;
    if (!is_float(type)) {
        const Bounds bounds = bounds_of(type);
        step.numbers = {static_cast<int32_t>(graph.integer(op, 1)),
                        static_cast<int32_t>(graph.integer(op, 2)), bounds.low, bounds.high};
    }
    return sink.add(step);
}

}  // namespace

bool is_elementwise(uint32_t opcode) { return find_step(opcode) != nullptr; }

uint32_t nan_mode(const Graph& graph, const Operator& op, size_t operand) {
    constexpr int64_t kPropagate = 1;  // TOSA's nan_mode
    return graph.integer(op, operand) == kPropagate ? 0 : NAN_IGNORE;
}

bool is_float(ElementType type) {
    return type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
           type == ElementType::kFloat32;
}

const char* tested_type_of(ElementType type) {
    return is_float(type) || type == ElementType::kInt16 ? name_of(type) : "";
}

uint32_t type_code(ElementType type) {
    switch (type) {
        case ElementType::kBool:
        case ElementType::kInt8:
            return TYPE_INT8;
        case ElementType::kInt16:
            return TYPE_INT16;
        case ElementType::kInt32:
            return TYPE_INT32;
        case ElementType::kInt48:
            return TYPE_INT48;
        case ElementType::kFloat16:
            return TYPE_FLOAT16;
        case ElementType::kBFloat16:
            return TYPE_BFLOAT16;
        case ElementType::kFloat32:
            return TYPE_FLOAT32;
        default:
            throw Error(std::string("tensors of ") + name_of(type) +
                        " are not supported by the compute engine");
    }
}

std::vector<size_t> value_operands(const Operator& op) {
    switch (op.opcode) {
        case TOSACLAMP:
            return {3};
        case TOSARESCALE:
            return {5};
        case TOSATABLE:
        case TOSANEGATE:
            return {0};
        case TOSAMUL:
            return {0, 1};
        case TOSAREDUCE_SUM:
            return {1};
        case TOSAREDUCE_MAX:
        case TOSAREDUCE_MIN:
            return {2};
        case TOSAARITHMETIC_RIGHT_SHIFT:
        case TOSAMAXIMUM:
        case TOSAMINIMUM:
            return {1, 2};
        default:
            break;
    }
    std::vector<size_t> all(op.operands.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
}

int add_steps(StepSink& sink, const Graph& graph, const Operator& op,
              const std::vector<int>& values) {
    switch (op.opcode) {
        case TOSARESCALE:
            return add_rescale(sink, graph, op, values[0]);
        case TOSACLAMP:
            return add_clamp(sink, graph, op, values[0]);
        case TOSACAST:
            return add_cast(sink, graph, op, values[0]);
        case TOSATABLE:
            return add_table(sink, graph, op, values[0]);
        case TOSAMUL:
            return add_mul(sink, graph, op, values);
        case TOSANEGATE:
            return add_negate(sink, graph, op, values[0]);
        default:
            break;
    }
    const OneStep* const row = find_step(op.opcode);
    const std::vector<size_t> operands = value_operands(op);
    // SELECT's first operand is a bool; the type of its values decides nothing.
    const ElementType type = graph.operand(op, operands[0]).type;
    Step step{is_float(type) ? row->floating : row->integer};
    if (step.name == nullptr) {
        throw Error(std::string(opcode_name(op.opcode)) + " of " + name_of(type) +
                    " is not in TOSA");
    }
    for (size_t i = 0; i < values.size(); ++i) step.operands[i] = values[i];
    if (op.opcode == TOSAMAXIMUM || op.opcode == TOSAMINIMUM) {
        if (is_float(type)) step.mode = nan_mode(graph, op, 0);
    } else if (op.opcode == TOSAARITHMETIC_RIGHT_SHIFT) {
        step.mode = graph.integer(op, 0) != 0 ? 1 : 0;
    } else if (op.opcode == TOSALOGICAL_LEFT_SHIFT || op.opcode == TOSALOGICAL_RIGHT_SHIFT) {
        step.mode = type_code(type);
    }
    return sink.add(step);
}

}  // namespace arm_runtime::vgf
