// The end of planning: memory for what groups store, and the numbers that depend on it.
#include <algorithm>

#include "../kernels/steps.h"
#include "../memory_plan.hpp"
#include "../shape_text.hpp"
#include "planner.hpp"
#include "program_writer.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kAlignment = 256;  // of tensors; the largest minStorageBufferOffsetAlignment
constexpr uint64_t kMaxBytes = 0x7fffffff;
constexpr uint32_t kMaxGroupsPerAxis = 65535;  // every device's maxComputeWorkGroupCount

/// What a kernel's code depends on.
std::string key_of(const KernelCode& kernel, const Group& group) {
    std::string key = std::string(kernel.name) + (kernel.dot ? " dot" : "");
    if (!group.has_program) return key;
    for (const Step& step : group.program.steps()) {
        key += std::string("; ") + step.name + (has_numbers(step) ? "#" : "");
        for (const int number : {static_cast<int>(step.mode), step.operands[0], step.operands[1],
                                 step.operands[2], step.result}) {
            key += " " + std::to_string(number);
        }
    }
    return key;
}

}  // namespace

std::string text_of(const Tensor& tensor) {
    return std::string(name_of(tensor.type)) + " " + shape_text(tensor.shape);
}

uint64_t bytes_in_memory(const Tensor& tensor) {
    const auto count = static_cast<uint64_t>(elements(tensor));
    return aligned(aligned(count, 4) * size_of(tensor.type), kAlignment);
}

/// What joined the group that makes it, and nothing else reads, needs no memory.
void Planner::drop_stores() {
    std::set<uint32_t> read;
    for (const Group& group : groups_) read.insert(group.reads.begin(), group.reads.end());
    for (Group& group : groups_) {
        const auto is_dead = [&](uint32_t tensor) {
            return !read.count(tensor) && !tensors_[tensor].slot;
        };
        std::vector<Step>& steps = group.program.steps();
        for (auto step = steps.begin(); step != steps.end();) {
            const bool dead = std::string(step->name) == "store" && step->tensor != kNoTensor &&
                              is_dead(step->tensor);
            if (dead) {
                group.writes.erase(
                    std::find(group.writes.begin(), group.writes.end(), step->tensor));
            }
            step = dead ? steps.erase(step) : step + 1;
        }
    }
}

std::vector<Block> Planner::inputs_in_work(uint64_t begin) const {
    std::vector<Block> blocks;
    for (const GraphPort& port : graph_.inputs) {
        const Slot& slot = resources_[port.resource];
        if (slot.buffer != BUFFER_WORK || slot.offset < begin) continue;
        Block block{slot.bytes, 1, 0, 0, slot.offset - begin, true};
        for (uint32_t i = 0; i < groups_.size(); ++i) {
            const std::vector<uint32_t>& reads = groups_[i].reads;
            if (std::find(reads.begin(), reads.end(), port.tensor) != reads.end()) block.last = i;
        }
        blocks.push_back(block);
    }
    return blocks;
}

void Planner::finish() {
    drop_stores();
    // Constants that kernels read as they are.
    for (const Group& group : groups_) {
        for (const uint32_t tensor : group.reads) {
            const Tensor& t = graph_.tensors[tensor];
            std::optional<Slot>& slot = tensors_[tensor].slot;
            if (!t.constant || slot) continue;
            slot = {BUFFER_CONSTANTS, add_constant(t.data.data(), t.data.size()),
                    aligned(t.data.size(), 16)};
        }
    }
    // Work memory: a tensor lives from the first group that stores it to the last that reads it.
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> lives;
    for (uint32_t i = 0; i < groups_.size(); ++i) {
        for (const auto* tensors : {&groups_[i].writes, &groups_[i].reads}) {
            for (const uint32_t tensor : *tensors) {
                if (tensors_[tensor].slot) continue;
                const auto [at, fresh] = lives.try_emplace(tensor, i, i);
                at->second.second = i;
            }
        }
    }
    std::vector<Block> blocks;
    uint64_t unshared = 0;
    for (const auto& [tensor, life] : lives) {
        blocks.push_back(
            {bytes_in_memory(graph_.tensors[tensor]), kAlignment, life.first, life.second});
        unshared += blocks.back().size;
    }
    const uint64_t begin = aligned(work_begin_, kAlignment);
    for (const Block& input : inputs_in_work(begin)) {
        blocks.push_back(input);
        unshared += input.size;
    }
    const uint64_t size = arm_runtime::vgf::plan(blocks);
    plan_.work_bytes = std::max(plan_.work_bytes, begin + size);
    if (plan_.work_bytes > kMaxBytes || plan_.constants.size() > kMaxBytes) {
        throw Error("the program takes " + std::to_string(plan_.work_bytes) +
                    " bytes for intermediate values and " + std::to_string(plan_.constants.size()) +
                    " for constants; the compute engine addresses 2 GiB of each");
    }
    plan_.saved_bytes += unshared > size ? unshared - size : 0;
    size_t block = 0;
    for (const auto& [tensor, life] : lives) {
        tensors_[tensor].slot = {BUFFER_WORK, begin + blocks[block].offset, blocks[block].size};
        ++block;
    }
    for (size_t i = 0; i < groups_.size(); ++i) finish(groups_[i], i);
}

void Planner::finish(Group& group, size_t index) {
    Dispatch dispatch{};
    const KernelCall& call = group;
    static_cast<KernelCall&>(dispatch) = call;
    dispatch.text = std::to_string(index) + ": " + group.text;
    const auto element_of = [&](uint32_t tensor) {
        return static_cast<int32_t>(slot_of(tensor).offset / size_of(graph_.tensors[tensor].type));
    };
    for (const Place& place : group.places) {
        dispatch.push[place.push] += element_of(place.tensor) / static_cast<int32_t>(place.unit);
        if (place.buffer_id == kNone) continue;
        dispatch.specialization.emplace_back(place.buffer_id, slot_of(place.tensor).buffer);
    }
    if (group.has_program) {
        for (Step& step : group.program.steps()) {
            if (step.tensor == kNoTensor) continue;
            step.mode |= slot_of(step.tensor).buffer << 5;
            step.numbers[0] += element_of(step.tensor);
        }
        std::vector<int32_t> numbers;
        for (const Step& step : group.program.steps()) {
            numbers.insert(numbers.end(), step.numbers.begin(), step.numbers.end());
        }
        dispatch.push[0] = static_cast<int32_t>(add_constant(numbers) / 16);
        dispatch.push[1] = static_cast<int32_t>(group.elements);
    }
    const KernelCode& kernel = find_kernel(group.kernel, group.dot);
    dispatch.kernel = kernel.name;
    dispatch.dot = kernel.dot;
    auto& code = plan_.code[key_of(kernel, group)];
    if (code == nullptr) {
        code = std::make_shared<const std::vector<uint32_t>>(
            group.has_program ? write_program(kernel, group.program)
                              : std::vector<uint32_t>(kernel.words, kernel.words + kernel.count));
    }
    dispatch.spirv = code;
    uint64_t workgroups = group.workgroups;
    if (workgroups == 0) {
        workgroups = (static_cast<uint64_t>(group.elements) + group.elements_per_group - 1) /
                     group.elements_per_group;
    }
    const uint64_t rows = (workgroups + kMaxGroupsPerAxis - 1) / kMaxGroupsPerAxis;
    if (rows > kMaxGroupsPerAxis) throw Error("a tensor is too large for one dispatch");
    dispatch.groups = {static_cast<uint32_t>((workgroups + rows - 1) / rows),
                       static_cast<uint32_t>(rows)};
    for (const uint32_t tensor : group.reads) dispatch.reads.push_back(slot_of(tensor));
    for (const uint32_t tensor : group.writes) dispatch.writes.push_back(slot_of(tensor));
    for (const Slot& slot : group.copies) dispatch.writes.push_back(slot);
    plan_.dispatches.push_back(std::move(dispatch));
}

}  // namespace arm_runtime::vgf
