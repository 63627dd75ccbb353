#include "elementwise.hpp"

#include <limits>

#include "../kernels/steps.h"
#include "float_bits.hpp"
#include "tosa_opcodes.hpp"

namespace arm_runtime::vgf {
namespace {

/// The steps of operators that are one step: on integers, and on floats (STEP_NOTHING: none).
struct OneStep {
    uint32_t opcode;
    uint32_t integer;
    uint32_t floating;
};

constexpr OneStep kOneStep[] = {
    {TOSAADD, STEP_ADD, STEP_FADD},
    {TOSASUB, STEP_SUB, STEP_FSUB},
    {TOSAMAXIMUM, STEP_MAX, STEP_FMAX},
    {TOSAMINIMUM, STEP_MIN, STEP_FMIN},
    {TOSAABS, STEP_ABS, STEP_FABS},
    {TOSABITWISE_AND, STEP_AND, STEP_NOTHING},
    {TOSABITWISE_OR, STEP_OR, STEP_NOTHING},
    {TOSABITWISE_XOR, STEP_XOR, STEP_NOTHING},
    {TOSABITWISE_NOT, STEP_NOT, STEP_NOTHING},
    {TOSALOGICAL_AND, STEP_AND, STEP_NOTHING},
    {TOSALOGICAL_OR, STEP_OR, STEP_NOTHING},
    {TOSALOGICAL_XOR, STEP_XOR, STEP_NOTHING},
    {TOSALOGICAL_NOT, STEP_LOGICAL_NOT, STEP_NOTHING},
    {TOSALOGICAL_LEFT_SHIFT, STEP_SHIFT_LEFT, STEP_NOTHING},
    {TOSALOGICAL_RIGHT_SHIFT, STEP_SHIFT_RIGHT, STEP_NOTHING},
    {TOSAARITHMETIC_RIGHT_SHIFT, STEP_SHIFT_RIGHT_ARITHMETIC, STEP_NOTHING},
    {TOSAINTDIV, STEP_INTDIV, STEP_NOTHING},
    {TOSACLZ, STEP_CLZ, STEP_NOTHING},
    {TOSAEQUAL, STEP_EQUAL, STEP_FEQUAL},
    {TOSAGREATER, STEP_GREATER, STEP_FGREATER},
    {TOSAGREATER_EQUAL, STEP_GREATER_EQUAL, STEP_FGREATER_EQUAL},
    {TOSASELECT, STEP_SELECT, STEP_SELECT},
    {TOSAPOW, STEP_NOTHING, STEP_POW},
    {TOSACEIL, STEP_NOTHING, STEP_CEIL},
    {TOSAFLOOR, STEP_NOTHING, STEP_FLOOR},
    {TOSAEXP, STEP_NOTHING, STEP_EXP},
    {TOSALOG, STEP_NOTHING, STEP_LOG},
    {TOSASIN, STEP_NOTHING, STEP_SIN},
    {TOSACOS, STEP_NOTHING, STEP_COS},
    {TOSATANH, STEP_NOTHING, STEP_TANH},
    {TOSASIGMOID, STEP_NOTHING, STEP_SIGMOID},
    {TOSAERF, STEP_NOTHING, STEP_ERF},
    {TOSARECIPROCAL, STEP_NOTHING, STEP_RECIPROCAL},
    {TOSARSQRT, STEP_NOTHING, STEP_RSQRT},
    // Those with more than one step, or with numbers: add_steps has a case for each.
    {TOSAMUL, STEP_NOTHING, STEP_NOTHING},
    {TOSACLAMP, STEP_NOTHING, STEP_NOTHING},
    {TOSANEGATE, STEP_NOTHING, STEP_NOTHING},
    {TOSATABLE, STEP_NOTHING, STEP_NOTHING},
    {TOSACAST, STEP_NOTHING, STEP_NOTHING},
    {TOSARESCALE, STEP_NOTHING, STEP_NOTHING},
};

const OneStep* find_step(uint32_t opcode) {
    for (const OneStep& row : kOneStep) {
        if (row.opcode == opcode) return &row;
    }
    return nullptr;
}

constexpr int64_t kPropagate = 1;  // TOSA's nan_mode

uint32_t nan_mode(const Graph& graph, const Operator& op, size_t operand) {
    return graph.integer(op, operand) == kPropagate ? 0 : NAN_IGNORE;
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
    Step step{STEP_RESCALE};
    step.operands[0] = value;
    if (input.type == ElementType::kInt48) {
        step.code = STEP_RESCALE48;
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
    if (!per_channel || multipliers.size() == 1) {
        step.numbers = {static_cast<int32_t>(multipliers[0]), static_cast<int32_t>(shifts[0]),
                        input_zero, output_zero};
        return sink.add(step);
    }
    step.mode |= RESCALE_PER_CHANNEL;
    const size_t channels = multipliers.size();
    const size_t padded = (channels + 3) / 4 * 4;
    std::vector<int32_t> table(4 + 2 * padded);
    table[0] = static_cast<int32_t>(channels);
    table[1] = input_zero;
    table[2] = output_zero;
    for (size_t i = 0; i < padded; ++i) {
        // What lies behind the last channel is computed too, and thrown away.
        table[4 + i] = i < channels ? static_cast<int32_t>(multipliers[i]) : 0;
        table[4 + padded + i] = i < channels ? static_cast<int32_t>(shifts[i]) : 2;
    }
    const uint64_t at = sink.add_constant(table.data(), table.size() * sizeof(int32_t));
    step.numbers[0] = static_cast<int32_t>(at / 16);
    return sink.add(step);
}

int add_clamp(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const Tensor& input = graph.operand(op, 3);
    Step step{STEP_CLAMP};
    step.operands[0] = value;
    if (is_float(input.type)) {
        step.code = STEP_FCLAMP;
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
    const auto add = [&](uint32_t code, uint32_t mode) {
        Step step{code, mode};
        step.operands[0] = value;
        return sink.add(step);
    };
    if (is_float(from) && is_float(to)) {
        if (size_of(to) == 4) return value;
        return add(STEP_FROUND, type_code(to));
    }
    if (is_float(from)) {
        if (to == ElementType::kBool) return add(STEP_FTO_BOOL, 0);
        return add(STEP_TO_INT, type_code(to));
    }
    if (is_float(to)) return add(STEP_TO_FLOAT, 0);
    if (to == ElementType::kBool) return add(STEP_TO_BOOL, 0);
    if (size_of(to) >= size_of(from) || to == ElementType::kInt32) return value;
    return add(STEP_WRAP, type_code(to));
}

int add_table(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const Tensor& table = graph.operand(op, 1);
    const bool narrow = table.type == ElementType::kInt8;
    Step step{static_cast<uint32_t>(narrow ? STEP_TABLE8 : STEP_TABLE16)};
    step.operands[0] = value;
    const uint64_t at = sink.add_constant(table.data.data(), table.data.size());
    step.numbers[0] = static_cast<int32_t>(at / size_of(table.type));
    return sink.add(step);
}

int add_mul(StepSink& sink, const Graph& graph, const Operator& op,
            const std::vector<int>& values) {
    Step step{STEP_MUL};
    step.operands = {values[0], values[1], kNoValue};
    const ElementType type = graph.operand(op, 0).type;
    if (is_float(type)) {
        step.code = STEP_FMUL;
    } else if (type == ElementType::kInt32 && graph.integer(op, 2) > 0) {
        step.code = STEP_MUL_SHIFT;
        step.numbers[0] = static_cast<int32_t>(graph.integer(op, 2));
    }
    return sink.add(step);
}

int add_negate(StepSink& sink, const Graph& graph, const Operator& op, int value) {
    const ElementType type = graph.operand(op, 0).type;
    Step step{static_cast<uint32_t>(is_float(type) ? STEP_FNEGATE : STEP_NEGATE)};
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

bool is_float(ElementType type) {
    return type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
           type == ElementType::kFloat32;
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
    if (step.code == STEP_NOTHING) {
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
