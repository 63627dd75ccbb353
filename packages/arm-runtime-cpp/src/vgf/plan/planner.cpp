#include "planner.hpp"

#include <algorithm>

#include "../kernels/steps.h"
#include "anchors.hpp"
#include "elementwise.hpp"
#include "operand_access.hpp"
#include "tosa_opcodes.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint32_t kNoBuffer = ~0U;
constexpr uint64_t kMaxBytes = 0x7fffffff;
constexpr uint32_t kMaxDepth = 32;    // of operators that are one program
constexpr int64_t kMaxThreads = 256;  // of a row: what kernels/row.comp has room for

/// Whether a reduction is of rows that kernels/row.comp holds: along the innermost axis.
bool reads_rows(const Graph& graph, const Operator& op, const DeviceTraits& device) {
    if (op.opcode != TOSAREDUCE_SUM && op.opcode != TOSAREDUCE_MAX && op.opcode != TOSAREDUCE_MIN) {
        return false;
    }
    const std::vector<int64_t>& shape = graph.operand(op, op.operands.size() - 1).shape;
    const int64_t length = shape.back();
    return graph.integer(op, 0) == static_cast<int64_t>(shape.size()) - 1 && length % 4 == 0 &&
           length > 4 && length <= 4 * std::min(kMaxThreads, device.max_threads);
}

/// The step of such a reduction.
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

/// As read by a program on rows: a size of 1 at the end is the row's.
std::vector<int64_t> in_rows(std::vector<int64_t> shape, int64_t row) {
    if (row != 0 && !shape.empty() && shape.back() == 1) shape.back() = row;
    return shape;
}

uint64_t aligned(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/// "i8 [1, 56, 56, 24]"
std::string text_of(const Tensor& tensor) {
    std::string out;
    for (const int64_t size : tensor.shape) out += (out.empty() ? "" : ", ") + std::to_string(size);
    return std::string(name_of(tensor.type)) + " [" + out + "]";
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

Planner::Planner(Graph graph, const ResourceSlots& resources, const DeviceTraits& device,
                 uint64_t work_begin, Plan& plan)
    : graph_(std::move(graph)),
      resources_(resources),
      device_(device),
      work_begin_(work_begin),
      plan_(plan),
      alias_(graph_.tensors.size()),
      makers_(graph_.tensors.size(), nullptr),
      consumers_(graph_.tensors.size(), 0),
      readers_(graph_.tensors.size(), nullptr),
      depths_(graph_.tensors.size(), 0) {
    for (uint32_t i = 0; i < alias_.size(); ++i) {
        alias_[i] = i;
        // Kernels count elements, and bytes, with 31 bits.
        if (bytes_in_memory(graph_.tensors[i]) > kMaxBytes) {
            throw Error("a tensor of " + text_of(graph_.tensors[i]) +
                        " is beyond the 2 GiB that the compute engine addresses");
        }
    }
    for (const Operator& op : graph_.operators) {
        for (const uint32_t result : op.results) makers_[result] = &op;
        if (op.opcode == TOSARESHAPE) alias_[op.results[0]] = root(op.operands[0]);
    }
    for (const Operator& op : graph_.operators) {
        if (!vgf::is_elementwise(op.opcode)) {
            read_otherwise_.insert(op.operands.begin(), op.operands.end());
        }
        if (op.opcode == TOSARESHAPE) continue;
        std::set<uint32_t> read;
        for (const uint32_t operand : op.operands) read.insert(root(operand));
        for (const uint32_t tensor : read) {
            ++consumers_[tensor];
            readers_[tensor] = &op;
        }
    }
    for (const GraphPort& port : graph_.outputs) {
        output_ports_[root(port.tensor)].push_back(port.resource);
    }
    for (const GraphPort& port : graph_.inputs) {
        memory_.insert(port.tensor);
        slots_[port.tensor] = resources_[port.resource];
    }
    // A value that is one output and nothing else is made where the output lies.
    for (const auto& [tensor, ports] : output_ports_) {
        if (ports.size() == 1 && consumers_[tensor] == 0 && !memory_.count(tensor) &&
            !graph_.tensors[tensor].constant) {
            slots_[tensor] = resources_[ports[0]];
        }
    }
}

uint32_t Planner::root(uint32_t tensor) const { return alias_[tensor]; }

bool Planner::is_elementwise(uint32_t tensor) const {
    const Operator* const maker = makers_[tensor];
    return maker != nullptr && vgf::is_elementwise(maker->opcode);
}

uint64_t Planner::add_constant(const void* data, size_t bytes) {
    const uint64_t at = aligned(plan_.constants.size(), 16);
    plan_.constants.resize(at + aligned(bytes, 16));
    if (bytes != 0) std::copy_n(static_cast<const uint8_t*>(data), bytes, &plan_.constants[at]);
    return at;
}

void Planner::run() {
    for (const Operator& op : graph_.operators) {
        if (op.opcode == TOSARESHAPE) continue;
        const uint32_t made = op.results[0];
        const bool reduces_rows = reads_rows(graph_, op, device_) &&
                                  output_ports_.count(made) == 0 &&
                                  read_otherwise_.count(made) == 0;
        if (reduces_rows) rows_.insert(made);
        if (reduces_rows || vgf::is_elementwise(op.opcode)) {
            // A program is not endless; and what it is made by calls itself for every operator.
            uint32_t depth = 0;
            for (const size_t index : value_operands(op)) {
                const uint32_t operand = root(op.operands[index]);
                if (!memory_.count(operand)) depth = std::max(depth, depths_[operand]);
            }
            depths_[made] = depth + 1;
            if (depth >= kMaxDepth) {
                need(made);
                depths_[made] = 0;
            }
            continue;
        }
        if (op.opcode == TOSATRANSPOSE && consumers_[made] == 1 && !output_ports_.count(made) &&
            reads_transposed(graph_, *readers_[made], made)) {
            deferred_.insert(made);
            continue;
        }
        op_ = &op;
        plan_anchor(*this);
    }
    for (const auto& [tensor, ports] : output_ports_) {
        need(tensor);
        const auto own = slots_.find(tensor);
        for (const uint32_t resource : ports) {
            const Slot& slot = resources_[resource];
            if (own != slots_.end() && own->second.buffer == slot.buffer &&
                own->second.offset == slot.offset) {
                continue;
            }
            // The output is one more place to store the value in.
            const auto home = group_of_.find(tensor);
            Group* group = home == group_of_.end() ? nullptr : &groups_[home->second];
            if (group == nullptr || !group->has_program || !fits(*group)) {
                groups_.emplace_back();
                group = &groups_.back();
                group->kernel = "elementwise";
                group->elements_per_group = 256;
                group->elements = elements_of(tensor);
            }
            Step step{"store", type_code(graph_.tensors[tensor].type) | slot.buffer << 5};
            step.operands[0] = value_of(*group, tensor);
            if (graph_.tensors[tensor].type == ElementType::kInt48)
                step.operands[1] = step.operands[0] + 1;
            step.numbers[0] =
                static_cast<int32_t>(slot.offset / size_of(graph_.tensors[tensor].type));
            group->program.add(step);
            group->copies.push_back(slot);
            group->text += " -> output";
        }
    }
    finish();
}

Group& Planner::begin(const char* kernel, const std::vector<uint32_t>& made) {
    // Operands must be in memory before the group is there: that may take groups of their own.
    // What is deferred still is read another way.
    for (const uint32_t operand : op_->operands) {
        if (!deferred_.count(operand)) need(operand);
    }
    groups_.emplace_back();
    Group& group = groups_.back();
    group.kernel = kernel;
    group.elements_per_group = 256;
    group.elements = elements_of(made[0]);
    group.text = opcode_name(op_->opcode);
    group.shape = text_of(graph_.tensors[made[0]]);
    for (size_t i = 0; i < made.size(); ++i) {
        group_of_[made[i]] = static_cast<uint32_t>(groups_.size() - 1);
        group.values[made[i]] = static_cast<int>(i);
    }
    return group;
}

uint32_t Planner::temporary(ElementType type, std::vector<int64_t> shape) {
    const auto tensor = static_cast<uint32_t>(graph_.tensors.size());
    graph_.tensors.push_back({type, std::move(shape), false, {}});
    alias_.push_back(tensor);
    makers_.push_back(op_);
    consumers_.push_back(1);
    readers_.push_back(op_);
    depths_.push_back(0);
    return tensor;
}

void Planner::read_tensor(Group& group, uint32_t read, uint32_t push, uint32_t buffer_id,
                          uint32_t unit) {
    const uint32_t tensor = root(read);
    group.reads.push_back(tensor);
    group.places.push_back({tensor, push, unit});
    if (buffer_id != kNoBuffer) group.buffers.push_back({tensor, buffer_id});
}

const Operator* Planner::deferred(uint32_t tensor) const {
    return deferred_.count(tensor) ? makers_[tensor] : nullptr;
}

void Planner::write_tensor(Group& group, uint32_t tensor, uint32_t push, uint32_t buffer_id,
                           uint32_t unit) {
    group.has_program = false;
    group.writes.push_back(tensor);
    group.places.push_back({tensor, push, unit});
    if (buffer_id != kNoBuffer) group.buffers.push_back({tensor, buffer_id});
    group.stored.insert(tensor);
    memory_.insert(tensor);
}

bool Planner::is_of_row(uint32_t read, const Tensor& result) const {
    std::set<uint32_t> seen;
    return is_of_row(read, result, seen);
}

bool Planner::is_of_row(uint32_t read, const Tensor& result, std::set<uint32_t>& seen) const {
    const std::vector<int64_t>& shape = graph_.tensors[read].shape;
    const uint32_t tensor = root(read);
    if (memory_.count(tensor) || graph_.tensors[tensor].constant || shape.empty()) return false;
    std::vector<int64_t> whole = shape;
    whole.back() = result.shape.back();
    if (shape.back() != 1 || whole != result.shape || !seen.insert(read).second) return false;
    if (rows_.count(tensor)) {
        return graph_.tensors[makers_[tensor]->operands.back()].shape == whole;
    }
    if (!is_elementwise(tensor)) return false;
    const Operator& op = *makers_[tensor];
    const std::vector<size_t> operands = value_operands(op);
    return std::any_of(operands.begin(), operands.end(), [&](size_t index) {
        return elements(graph_.operand(op, index)) == elements(graph_.tensors[read]) &&
               is_of_row(op.operands[index], result, seen);
    });
}

int64_t Planner::row_of(uint32_t tensor, std::set<uint32_t>& seen) const {
    if (memory_.count(tensor) || !is_elementwise(tensor) || !seen.insert(tensor).second) return 0;
    const Operator& op = *makers_[tensor];
    const Tensor& result = graph_.result(op);
    for (const size_t index : value_operands(op)) {
        if (elements(graph_.operand(op, index)) != elements(result)) {
            if (is_of_row(op.operands[index], result)) return result.shape.back();
        } else if (const int64_t row = row_of(root(op.operands[index]), seen); row != 0) {
            return row;
        }
    }
    return 0;
}

int64_t Planner::row_of(uint32_t tensor) const {
    std::set<uint32_t> seen;
    return row_of(tensor, seen);
}

void Planner::plan_now(uint32_t tensor) {
    const Operator* const reader = op_;
    op_ = makers_[tensor];
    plan_anchor(*this);
    op_ = reader;
}

Group Planner::group_for(uint32_t tensor, int64_t row) const {
    Group group;
    group.kernel = row != 0 ? "row" : "elementwise";
    group.elements_per_group = 256;
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
    if (memory_.count(tensor) || graph_.tensors[tensor].constant) return;
    if (deferred_.erase(tensor)) return plan_now(tensor);
    if (rows_.erase(tensor)) plan_now(tensor);
    if (!is_elementwise(tensor)) {
        Group& group = groups_[group_of_.at(tensor)];
        store(group, tensor, group.values.at(tensor));
        memory_.insert(tensor);
        return;
    }
    std::set<uint32_t> seen;
    need_operands(tensor, seen);
    const int64_t row = row_of(tensor);
    seen.clear();
    const int last = last_group(tensor, seen);
    // What other groups have in registers only must be in memory; of the last one, if it is not
    // joined.
    const auto store_leaves = [&](bool all) {
        for (const uint32_t leaf : seen) {
            if (is_computed(leaf) || memory_.count(leaf) || graph_.tensors[leaf].constant) continue;
            if (all || static_cast<int>(group_of_.at(leaf)) != last) need(leaf);
        }
    };
    store_leaves(false);
    if (last >= 0) {
        const Group& candidate = groups_[static_cast<size_t>(last)];
        if (candidate.has_program && candidate.elements == elements_of(tensor) &&
            (row == 0 || candidate.row == row)) {
            Group trial = candidate;
            if (compute_in(trial, tensor)) {
                groups_[static_cast<size_t>(last)] = std::move(trial);
                group_of_[tensor] = static_cast<uint32_t>(last);
                memory_.insert(tensor);
                return;
            }
        }
    }
    store_leaves(true);
    for (;;) {
        Group group = group_for(tensor, row_of(tensor));
        if (compute_in(group, tensor)) {
            groups_.push_back(std::move(group));
            group_of_[tensor] = static_cast<uint32_t>(groups_.size() - 1);
            memory_.insert(tensor);
            return;
        }
        // Too long: what its last operator reads is computed before.
        for (const size_t operand : value_operands(*makers_[tensor])) {
            need(makers_[tensor]->operands[operand]);
        }
    }
}

void Planner::need_operands(uint32_t tensor, std::set<uint32_t>& seen) {
    const Operator& op = *makers_[tensor];
    const Tensor& result = graph_.result(op);
    for (const size_t index : value_operands(op)) {
        const uint32_t operand = root(op.operands[index]);
        if (memory_.count(operand) || graph_.tensors[operand].constant) continue;
        if (!seen.insert(operand).second) continue;
        const bool same = elements_of(operand) == elements_of(tensor);
        const bool reduced = rows_.count(tensor) != 0;  // `tensor` is the reduction
        if (same && rows_.count(operand)) {
            // A value of each row outside of a program on rows.
            if (!in_row_program_)
                need(operand);
            else
                need_operands(operand, seen);
        } else if (!same && !reduced && is_of_row(op.operands[index], result)) {
            const bool outer = in_row_program_;
            in_row_program_ = true;
            need_operands(operand, seen);
            in_row_program_ = outer;
        } else if (!same && !reduced) {
            need(operand);
        } else if (is_elementwise(operand)) {
            // What several operators read is computed once, unless it is one step from memory.
            const bool cheap =
                value_operands(*makers_[operand]).size() == 1 &&
                memory_.count(
                    root(makers_[operand]->operands[value_operands(*makers_[operand])[0]])) != 0;
            need_operands(operand, seen);
            const bool of_row = in_row_program_ && !reduced;
            if (consumers_[operand] > 1 && !cheap && !of_row) {
                const bool outer = in_row_program_;
                in_row_program_ = false;
                need(operand);
                in_row_program_ = outer;
            }
        }
    }
}

int Planner::last_group(uint32_t tensor, std::set<uint32_t>& seen) const {
    int last = -1;
    if (!seen.insert(tensor).second) return last;
    if (!memory_.count(tensor) && is_computed(tensor)) {
        const Operator& op = *makers_[tensor];
        for (const size_t index : value_operands(op)) {
            last = std::max(last, last_group(root(op.operands[index]), seen));
        }
        return last;
    }
    const auto found = group_of_.find(tensor);
    return found == group_of_.end() ? last : static_cast<int>(found->second);
}

bool Planner::compute_in(Group& group, uint32_t tensor) {
    const int value = value_of(group, tensor);
    store(group, tensor, value);
    return fits(group);
}

bool Planner::fits(const Group& group) {
    // Beyond this, registers run short: it is better to go through memory.
    constexpr size_t kMaxSteps = 60;
    return group.program.steps().size() <= kMaxSteps;
}

int Planner::value_of(Group& group, uint32_t tensor) {
    const auto known = group.values.find(tensor);
    if (known != group.values.end()) return known->second;
    int value = kNoValue;
    const bool given = memory_.count(tensor) != 0 || graph_.tensors[tensor].constant;
    if (given || !is_computed(tensor)) {
        value = load(group, tensor, in_rows(graph_.tensors[tensor].shape, group.row));
    } else if (rows_.count(tensor)) {
        const Operator& op = *makers_[tensor];
        Step step = row_step(graph_, op);
        step.operands[0] = value_of(group, root(op.operands.back()));
        value = group.program.add(step);
        group.text += (group.text.empty() ? "" : " ") + std::string(opcode_name(op.opcode));
    } else {
        const Operator& op = *makers_[tensor];
        const Tensor& result = graph_.tensors[op.results[0]];
        const std::vector<int64_t> shape = in_rows(result.shape, group.row);
        std::vector<int> values;
        for (const size_t index : value_operands(op)) {
            const uint32_t operand = root(op.operands[index]);
            const Tensor& as_read = graph_.tensors[op.operands[index]];
            const bool at_hand = elements(as_read) == elements(result) ||
                                 (group.row != 0 && is_of_row(op.operands[index], result));
            const bool in_memory = memory_.count(operand) != 0 || graph_.tensors[operand].constant;
            values.push_back(at_hand && !(in_memory && shape != result.shape)
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
    if (!group.stored.insert(tensor).second) return;
    Step step{"store", type_code(graph_.tensors[tensor].type)};
    step.operands[0] = value;
    if (graph_.tensors[tensor].type == ElementType::kInt48) step.operands[1] = value + 1;
    step.tensor = tensor;
    group.program.add(step);
    group.writes.push_back(tensor);
}

void make_plan(Graph graph, const ResourceSlots& resources, const DeviceTraits& device,
               uint64_t work_begin, Plan& plan) {
    Planner(std::move(graph), resources, device, work_begin, plan).run();
}

}  // namespace arm_runtime::vgf
