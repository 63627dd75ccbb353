// Fused programs: which operators they hold, in which group they run, and their steps.
#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <utility>

#include "../kernels/steps.h"
#include "anchors.hpp"
#include "elementwise.hpp"
#include "operand_access.hpp"
#include "planner.hpp"

namespace arm_runtime::vgf {
namespace {

/// The step of a reduction of rows.
Step row_step(const Graph& graph, const Operator& op) {
    // ROW_... of kernels/row.comp.
    Step step{"row"};
    if (op.opcode != TOSAREDUCE_SUM) {
        step.mode = op.opcode == TOSAREDUCE_MAX ? 1 : 2;
        constexpr int64_t kIgnore = 2;  // TOSA's nan_mode
        if (graph.integer(op, 1) == kIgnore) step.mode |= 8;
    }
    if (is_float(graph.result(op).type)) step.mode |= 4;
    return step;
}

/// A shape as a program on rows reads it: of one number for each row, the row.
std::vector<int64_t> in_rows(std::vector<int64_t> shape, const Group& group) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    if (group.row != 0 && !shape.empty() && shape.back() == 1 &&
        count * group.row == group.elements) {
        shape.back() = group.row;
    }
    return shape;
}

class GroupSink : public StepSink {
  public:
    GroupSink(Planner& planner, Group& group) : planner_(planner), group_(group) {}
    int add(const Step& step) override { return group_.program.add(step); }
    uint64_t add_constant(const void* data, size_t bytes) override {
        return planner_.add_constant(data, bytes);
    }

  private:
    Planner& planner_;
    Group& group_;
};

}  // namespace

bool Planner::is_of_row(uint32_t read, const Tensor& result) const {
    std::set<uint32_t> seen;
    return is_of_row(read, result, seen);
}

bool Planner::is_of_row(uint32_t read, const Tensor& result, std::set<uint32_t>& seen) const {
    const std::vector<int64_t>& shape = graph_.tensors[read].shape;
    const uint32_t tensor = root(read);
    if (is_stored(tensor) || shape.empty()) return false;
    std::vector<int64_t> whole = shape;
    whole.back() = result.shape.back();
    if (shape.back() != 1 || whole != result.shape || !seen.insert(read).second) return false;
    if (tensors_[tensor].of_rows) {
        return graph_.tensors[tensors_[tensor].maker->operands.back()].shape == whole;
    }
    if (!is_elementwise(tensor)) return false;
    const Operator& op = *tensors_[tensor].maker;
    const std::vector<size_t> operands = value_operands(op);
    return std::any_of(operands.begin(), operands.end(), [&](size_t index) {
        return elements(graph_.operand(op, index)) == elements(graph_.tensors[read]) &&
               is_of_row(op.operands[index], result, seen);
    });
}

int64_t Planner::row_of(uint32_t tensor, std::set<uint32_t>& seen) const {
    if (tensors_[tensor].in_memory || !is_elementwise(tensor) || !seen.insert(tensor).second) {
        return 0;
    }
    const Operator& op = *tensors_[tensor].maker;
    const Tensor& result = graph_.result(op);
    const std::vector<size_t> operands = value_operands(op);
    for (const size_t index : operands) {
        const bool smaller = elements(graph_.operand(op, index)) != elements(result);
        if (smaller && is_of_row(op.operands[index], result)) return result.shape.back();
    }
    for (const size_t index : operands) {
        if (elements(graph_.operand(op, index)) != elements(result)) continue;
        if (const int64_t row = row_of(root(op.operands[index]), seen); row != 0) return row;
    }
    return 0;
}

int64_t Planner::row_of(uint32_t tensor) const {
    std::set<uint32_t> seen;
    return row_of(tensor, seen);
}

void Planner::plan_now(uint32_t tensor) {
    const Operator* const reader = op_;
    op_ = tensors_[tensor].maker;
    plan_anchor(*this);
    op_ = reader;
}

uint32_t Planner::source_of(uint32_t operand) const {
    constexpr int kMostOperators = 12;  // fewer steps than a program may have
    uint32_t source = operand;
    for (int count = 0; !is_stored(source); ++count) {
        const TensorPlan& tensor = tensors_[source];
        if (!is_elementwise(source) || tensor.root != source || tensor.consumers != 1 ||
            !tensor.outputs.empty() || count == kMostOperators) {
            return operand;
        }
        const Operator& op = *tensor.maker;
        uint32_t read = kNone;
        for (const size_t index : value_operands(op)) {
            const uint32_t value = op.operands[index];
            if (elements_of(value) == 1 && graph_.tensors[value].constant) continue;
            if (read != kNone || graph_.tensors[value].shape != graph_.tensors[source].shape) {
                return operand;
            }
            read = value;
        }
        const bool per_channel = op.opcode == TOSARESCALE && graph_.integers(op, 6).size() > 1;
        if (read == kNone || per_channel) return operand;
        source = read;
    }
    return source;
}

Group& Planner::begin_behind(const char* kernel, uint32_t operand, uint32_t source) {
    tensors_[operand].deferred = tensors_[operand].deferred || source != operand;
    Group& group = begin(kernel);
    if (source == operand) return group;
    group.text.clear();
    group.values = {{source, 0}};
    const int value = value_of(group, operand);
    group.values[op_->results[0]] = value;
    group.text += " " + std::string(opcode_name(op_->opcode));
    return group;
}

Group Planner::group_for(uint32_t tensor, int64_t row) const {
    Group group;
    group.kernel = row != 0 ? "row" : "elementwise";
    group.elements = elements_of(tensor);
    group.shape = text_of(graph_.tensors[tensor]);
    group.row = row;
    if (row != 0) {
        uint32_t width = 1;
        while (4 * int64_t{width} < row) width *= 2;
        const uint32_t threads = std::max(width, 64U);
        const int64_t rows = group.elements / row;
        group.specialization = {{20, threads}, {21, width}};
        group.push[2] = static_cast<int32_t>(row);
        group.push[3] = static_cast<int32_t>(rows);
        const uint32_t at_once = threads / width;
        group.workgroups = (static_cast<uint64_t>(rows) + at_once - 1) / at_once;
    }
    return group;
}

void Planner::need(uint32_t wanted) {
    const uint32_t tensor = root(wanted);
    if (is_stored(tensor)) return;
    if (std::exchange(tensors_[tensor].deferred, false)) return plan_now(tensor);
    if (std::exchange(tensors_[tensor].of_rows, false)) plan_now(tensor);
    if (!is_elementwise(tensor)) {
        Group& group = groups_.at(tensors_[tensor].group);
        store(group, tensor, group.values.at(tensor));
        tensors_[tensor].in_memory = true;
        return;
    }
    std::set<uint32_t> seen;
    need_operands(tensor, {row_of(tensor), false}, seen);
    const int64_t row = row_of(tensor);
    seen.clear();
    const int last = last_group(tensor, seen);
    // What other groups have in registers only must be in memory; of the last one, if it is not
    // joined.
    const auto store_leaves = [&](bool all) {
        for (const uint32_t leaf : seen) {
            if (is_computed(leaf) || is_stored(leaf)) continue;
            if (all || static_cast<int>(tensors_[leaf].group) != last) need(leaf);
        }
    };
    const auto computed_by = [&](size_t group) {
        tensors_[tensor].group = static_cast<uint32_t>(group);
        tensors_[tensor].in_memory = true;
    };
    store_leaves(false);
    if (last >= 0) {
        const Group& candidate = groups_[static_cast<size_t>(last)];
        if (candidate.has_program && candidate.elements == elements_of(tensor) &&
            (row == 0 || candidate.row == row)) {
            Group trial = candidate;
            if (compute_in(trial, tensor)) {
                groups_[static_cast<size_t>(last)] = std::move(trial);
                return computed_by(static_cast<size_t>(last));
            }
        }
    }
    store_leaves(true);
    for (;;) {
        Group group = group_for(tensor, row_of(tensor));
        if (compute_in(group, tensor)) {
            groups_.push_back(std::move(group));
            return computed_by(groups_.size() - 1);
        }
        // Too long: what its last operator reads is computed before.
        const Operator& op = *tensors_[tensor].maker;
        for (const size_t operand : value_operands(op)) need(op.operands[operand]);
    }
}

void Planner::need_operands(uint32_t tensor, const Rows& rows, std::set<uint32_t>& seen) {
    const Operator& op = *tensors_[tensor].maker;
    const Tensor& result = graph_.result(op);
    const bool reduces = tensors_[tensor].of_rows;
    for (const size_t index : value_operands(op)) {
        const uint32_t operand = root(op.operands[index]);
        if (is_stored(operand)) continue;
        if (!seen.insert(operand).second) continue;
        const bool same = elements_of(operand) == elements_of(tensor);
        if (reduces || same) {
            // A reduction reads whole rows; what else is of the same size is of the same kind.
            const Rows below{rows.length, rows.reduced && !reduces};
            if (tensors_[operand].of_rows && !below.reduced) {
                need(operand);
            } else if (is_computed(operand)) {
                // What several operators read is computed once, unless it is one step from memory,
                // or one number of each row.
                const bool shared = tensors_[operand].consumers > 1 && !below.reduced;
                if (shared && value_operands(*tensors_[operand].maker).size() > 1) {
                    need(operand);
                    continue;
                }
                need_operands(operand, below, seen);
                if (shared && !is_cheap(operand)) need(operand);
            }
        } else if (rows.length == result.shape.back() && is_of_row(op.operands[index], result)) {
            need_operands(operand, {rows.length, true}, seen);
        } else {
            need(operand);
        }
    }
}

bool Planner::is_cheap(uint32_t tensor) const {
    const Operator& op = *tensors_[tensor].maker;
    const std::vector<size_t> operands = value_operands(op);
    return operands.size() == 1 && tensors_[root(op.operands[operands[0]])].in_memory;
}

int Planner::last_group(uint32_t tensor, std::set<uint32_t>& seen) const {
    int last = -1;
    if (!seen.insert(tensor).second) return last;
    if (!tensors_[tensor].in_memory && is_computed(tensor)) {
        const Operator& op = *tensors_[tensor].maker;
        for (const size_t index : value_operands(op)) {
            last = std::max(last, last_group(root(op.operands[index]), seen));
        }
        return last;
    }
    return static_cast<int>(tensors_[tensor].group);  // kNone: -1
}

bool Planner::compute_in(Group& group, uint32_t tensor) {
    const int value = value_of(group, tensor);
    store(group, tensor, value);
    return fits(group);
}

bool Planner::fits(const Group& group) {
    // Beyond this, registers run short: it is better to go through memory.
    // A few more may come: stores of what other groups read.
    return group.program.steps().size() <= MAX_STEPS - 4;
}

int Planner::value_of(Group& group, uint32_t tensor) {
    const auto known = group.values.find(tensor);
    if (known != group.values.end()) return known->second;
    int value = kNoValue;
    if (is_stored(tensor) || !is_computed(tensor)) {
        value = load(group, tensor, in_rows(graph_.tensors[tensor].shape, group));
    } else if (tensors_[tensor].of_rows) {
        const Operator& op = *tensors_[tensor].maker;
        Step step = row_step(graph_, op);
        step.operands[0] = value_of(group, root(op.operands.back()));
        value = group.program.add(step);
        group.text += (group.text.empty() ? "" : " ") + std::string(opcode_name(op.opcode));
    } else {
        const Operator& op = *tensors_[tensor].maker;
        const Tensor& result = graph_.tensors[op.results[0]];
        const std::vector<int64_t> shape = in_rows(result.shape, group);
        std::vector<int> values;
        for (const size_t index : value_operands(op)) {
            const uint32_t operand = root(op.operands[index]);
            const Tensor& as_read = graph_.tensors[op.operands[index]];
            const bool at_hand = elements(as_read) == elements(result) ||
                                 (group.row != 0 && group.row == result.shape.back() &&
                                  is_of_row(op.operands[index], result));
            values.push_back(at_hand && !(is_stored(operand) && shape != result.shape)
                                 ? value_of(group, operand)
                                 : load(group, op.operands[index], shape));
        }
        GroupSink sink(*this, group);
        value = add_steps(sink, graph_, op, values);
        group.text += (group.text.empty() ? "" : " ") + std::string(opcode_name(op.opcode));
    }
    group.values[tensor] = value;
    return value;
}

int Planner::load(Group& group, uint32_t tensor, const std::vector<int64_t>& shape) {
    const Access access = access_of(graph_.tensors[tensor].shape, shape);
    const uint32_t place = root(tensor);
    Step step{"load", type_code(graph_.tensors[tensor].type) | access.kind << 3};
    step.tensor = place;
    step.numbers[1] = access.channels;
    if (access.kind == ACCESS_STRIDED) {
        const auto block = add_constant(access.block);
        step.numbers[2] = static_cast<int32_t>(block / sizeof(int32_t));
    }
    group.reads.push_back(place);
    const int value = group.program.add(step);
    if (graph_.tensors[tensor].type == ElementType::kInt48) {
        step.name = "load_high";  // its value is the one after
        group.program.add(step);
    }
    return value;
}

void Planner::store(Group& group, uint32_t tensor, int value) {
    if (std::find(group.writes.begin(), group.writes.end(), tensor) != group.writes.end()) return;
    Step step{"store", type_code(graph_.tensors[tensor].type)};
    step.operands[0] = value;
    if (graph_.tensors[tensor].type == ElementType::kInt48) step.operands[1] = value + 1;
    step.tensor = tensor;
    group.program.add(step);
    group.writes.push_back(tensor);
}

}  // namespace arm_runtime::vgf
