#include "planner.hpp"

#include <spirv/unified1/TOSA.001000.1.h>

#include <algorithm>
#include <cstring>

#include "../kernels/steps.h"
#include "../memory_plan.hpp"
#include "anchors.hpp"
#include "elementwise.hpp"

namespace arm_runtime::vgf {
namespace {

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

uint64_t hash_of(const void* data, size_t bytes) {
    uint64_t hash = bytes;
    const auto* at = static_cast<const uint8_t*>(data);
    for (size_t left = bytes; left != 0;) {
        uint64_t word = 0;
        const size_t taken = std::min(left, sizeof(word));
        std::memcpy(&word, at, taken);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
        at += taken;
        left -= taken;
    }
    return hash;
}

}  // namespace

Planner::Planner(Graph& graph, const ResourceSlots& resources, DeviceTraits device,
                 uint64_t work_begin, Plan& plan)
    : graph_(graph),
      resources_(resources),
      device_(std::move(device)),
      work_begin_(work_begin),
      plan_(plan),
      tensors_(graph_.tensors.size()) {
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        tensors_[i].root = i;
        // Kernels count elements, and bytes, with 31 bits.
        if (bytes_in_memory(graph_.tensors[i]) > kMaxBytes) {
            throw Error("a tensor of " + text_of(graph_.tensors[i]) +
                        " is beyond the 2 GiB that the compute engine addresses");
        }
    }
    for (const Operator& op : graph_.operators) {
        for (const uint32_t result : op.results) tensors_[result].maker = &op;
        if (op.opcode == TOSARESHAPE) tensors_[op.results[0]].root = root(op.operands[0]);
    }
    for (const Operator& op : graph_.operators) {
        for (const uint32_t operand : op.operands) {
            if (!vgf::is_elementwise(op.opcode)) tensors_[operand].read_by_kernel = true;
            TensorPlan& read = tensors_[root(operand)];
            if (op.opcode == TOSARESHAPE || read.reader == &op) continue;
            ++read.consumers;
            read.reader = &op;
        }
    }
    for (const GraphPort& port : graph_.outputs) {
        tensors_[root(port.tensor)].outputs.push_back(port.resource);
    }
    for (const GraphPort& port : graph_.inputs) {
        tensors_[port.tensor].in_memory = true;
        const Slot& slot = resources_[port.resource];
        const auto& outputs = graph_.outputs;
        if (std::any_of(outputs.begin(), outputs.end(), [&](const GraphPort& output) {
                return overlap(slot, resources_[output.resource]);
            })) {
            save_input(port.tensor, slot);
        } else {
            tensors_[port.tensor].slot = slot;
        }
    }
    // A value that is one output and nothing else is made where the output lies.
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        TensorPlan& tensor = tensors_[i];
        if (tensor.outputs.size() == 1 && tensor.consumers == 0 && !is_stored(i)) {
            tensor.slot = resources_[tensor.outputs[0]];
        }
    }
}

void Planner::save_input(uint32_t tensor, const Slot& slot) {
    const Tensor input = graph_.tensors[tensor];
    const uint32_t given = temporary(input.type, input.shape);
    tensors_[given].in_memory = true;
    tensors_[given].slot = slot;
    Group group = group_for(tensor, 0);
    group.text = "input";
    store(group, tensor, load(group, given, input.shape));
    groups_.push_back(std::move(group));
}

bool Planner::is_elementwise(uint32_t tensor) const {
    const Operator* const maker = tensors_[tensor].maker;
    return maker != nullptr && vgf::is_elementwise(maker->opcode);
}

uint64_t Planner::add_constant(const void* data, size_t bytes) {
    const uint64_t hash = hash_of(data, bytes);
    const auto [begin, end] = plan_.known_constants.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
        const auto [place, size] = known->second;
        if (size == bytes && std::memcmp(&plan_.constants[place], data, bytes) == 0) return place;
    }
    const uint64_t at = aligned(plan_.constants.size(), 16);
    plan_.constants.resize(at + aligned(bytes, 16));
    if (bytes != 0) std::memcpy(&plan_.constants[at], data, bytes);
    if (bytes != 0) plan_.known_constants.emplace(hash, std::pair(at, bytes));
    return at;
}

void Planner::run() {
    for (const Operator& op : graph_.operators) {
        if (op.opcode == TOSARESHAPE) continue;
        const uint32_t made = op.results[0];
        TensorPlan& result = tensors_[made];
        result.of_rows =
            reads_rows(graph_, op, device_) && result.outputs.empty() && !result.read_by_kernel;
        if (is_computed(made)) {
            // A program is not endless; and what it is made by calls itself for every operator.
            uint32_t depth = 0;
            for (const size_t index : value_operands(op)) {
                const uint32_t operand = root(op.operands[index]);
                if (!tensors_[operand].in_memory) depth = std::max(depth, tensors_[operand].depth);
            }
            result.depth = depth + 1;
            if (depth >= kMaxDepth) {
                result.depth = 0;
                need(made);
            }
            continue;
        }
        if (result.consumers == 1 && result.outputs.empty() && is_read_where_it_lies(op)) {
            result.deferred = true;
            continue;
        }
        op_ = &op;
        plan_anchor(*this);
    }
    for (uint32_t tensor = 0; tensor < tensors_.size(); ++tensor) {
        if (!tensors_[tensor].outputs.empty()) write_outputs(tensor);
    }
    finish();
}

bool Planner::is_read_where_it_lies(const Operator& op) const {
    const Operator& reader = *tensors_[op.results[0]].reader;
    if (op.opcode == TOSATRANSPOSE) return reads_transposed(graph_, reader, op.results[0]);
    return op.opcode == TOSACONCAT && reads_concatenated(graph_, reader, op);
}

void Planner::write_outputs(uint32_t tensor) {
    need(tensor);
    const TensorPlan& value = tensors_[tensor];
    const ElementType type = graph_.tensors[tensor].type;
    for (const uint32_t resource : value.outputs) {
        const Slot& slot = resources_[resource];
        if (value.slot && value.slot->buffer == slot.buffer && value.slot->offset == slot.offset) {
            continue;
        }
        // The output is one more place to store the value in.
        Group* group = value.group == kNone ? nullptr : &groups_[value.group];
        if (group == nullptr || !group->has_program || !fits(*group)) {
            groups_.push_back(group_for(tensor, 0));
            group = &groups_.back();
        }
        Step step{"store", type_code(type) | slot.buffer << 5};
        step.operands[0] = value_of(*group, tensor);
        if (type == ElementType::kInt48) step.operands[1] = step.operands[0] + 1;
        step.numbers[0] = static_cast<int32_t>(slot.offset / size_of(type));
        group->program.add(step);
        group->copies.push_back(slot);
        group->text += " -> output";
    }
}

Group& Planner::begin(const char* kernel, const std::vector<uint32_t>& made) {
    // Operands must be in memory before the group is there: that may take groups of their own.
    // What is deferred still is read another way.
    for (const uint32_t operand : op_->operands) {
        if (!tensors_[operand].deferred) need(operand);
    }
    groups_.emplace_back();
    Group& group = groups_.back();
    group.kernel = kernel;
    group.elements = elements_of(made[0]);
    group.text = opcode_name(op_->opcode);
    group.shape = text_of(graph_.tensors[made[0]]);
    for (size_t i = 0; i < made.size(); ++i) {
        tensors_[made[i]].group = static_cast<uint32_t>(groups_.size() - 1);
        group.values[made[i]] = static_cast<int>(i);
    }
    return group;
}

uint32_t Planner::temporary(ElementType type, std::vector<int64_t> shape) {
    const auto tensor = static_cast<uint32_t>(graph_.tensors.size());
    graph_.tensors.push_back({type, std::move(shape), false, {}});
    TensorPlan& added = tensors_.emplace_back();
    added.root = tensor;
    added.maker = added.reader = op_;
    added.consumers = 1;
    return tensor;
}

void Planner::read_tensor(Group& group, uint32_t read, uint32_t push, uint32_t buffer_id,
                          uint32_t unit) {
    const uint32_t tensor = root(read);
    group.reads.push_back(tensor);
    group.places.push_back({tensor, push, buffer_id, unit});
}

const Operator* Planner::deferred(uint32_t tensor) const {
    return tensors_[tensor].deferred ? tensors_[tensor].maker : nullptr;
}

void Planner::write_tensor(Group& group, uint32_t tensor, uint32_t push, uint32_t buffer_id,
                           uint32_t unit) {
    group.has_program = false;
    group.writes.push_back(tensor);
    group.places.push_back({tensor, push, buffer_id, unit});
    tensors_[tensor].in_memory = true;
}

void make_plan(Graph& graph, const ResourceSlots& resources, const DeviceTraits& device,
               uint64_t work_begin, Plan& plan) {
    const size_t tensors = graph.tensors.size();
    Planner(graph, resources, device, work_begin, plan).run();
    graph.tensors.resize(tensors);  // without temporary ones
}

}  // namespace arm_runtime::vgf
