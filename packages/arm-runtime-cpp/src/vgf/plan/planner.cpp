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
        const Slot& slot = resources_[port.resource];
        const auto& outputs = graph_.outputs;
        if (std::any_of(outputs.begin(), outputs.end(), [&](const GraphPort& output) {
                return overlap(slot, resources_[output.resource]);
            })) {
            save_input(port.tensor, slot);
        } else {
            slots_[port.tensor] = slot;
        }
    }
    // A value that is one output and nothing else is made where the output lies.
    for (const auto& [tensor, ports] : output_ports_) {
        if (ports.size() == 1 && consumers_[tensor] == 0 && !memory_.count(tensor) &&
            !graph_.tensors[tensor].constant) {
            slots_[tensor] = resources_[ports[0]];
        }
    }
}

void Planner::save_input(uint32_t tensor, const Slot& slot) {
    const Tensor input = graph_.tensors[tensor];
    const uint32_t given = temporary(input.type, input.shape);
    memory_.insert(given);
    slots_[given] = slot;
    Group group = group_for(tensor, 0);
    group.text = "input";
    store(group, tensor, load(group, given, input.shape));
    groups_.push_back(std::move(group));
}

uint32_t Planner::root(uint32_t tensor) const { return alias_[tensor]; }

bool Planner::is_elementwise(uint32_t tensor) const {
    const Operator* const maker = makers_[tensor];
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
                *group = group_for(tensor, 0);
            }
            Step step{"store", type_code(graph_.tensors[tensor].type) | slot.buffer << 5};
            step.operands[0] = value_of(*group, tensor);
            if (graph_.tensors[tensor].type == ElementType::kInt48) {
                step.operands[1] = step.operands[0] + 1;
            }
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

void make_plan(Graph& graph, const ResourceSlots& resources, const DeviceTraits& device,
               uint64_t work_begin, Plan& plan) {
    const size_t tensors = graph.tensors.size();
    Planner(graph, resources, device, work_begin, plan).run();
    graph.tensors.resize(tensors);  // without temporary ones
}

}  // namespace arm_runtime::vgf
