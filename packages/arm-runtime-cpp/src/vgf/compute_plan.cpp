#include "compute_plan.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "images.hpp"
#include "kernel_layout.hpp"
#include "kernels/steps.h"
#include "memory_plan.hpp"
#include "plan/plan_text.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr uint64_t kAlignment = 256;

Slot upload_slot(const ParsedFile& file, uint32_t resource, Plan& plan) {
    const uint64_t bytes = file.program.resources[resource].bytes;
    const Slot slot{BUFFER_CONSTANTS, aligned(plan.constants.size(), kAlignment), bytes};
    plan.constants.resize(slot.offset + bytes);
    for (const auto& [known, data] : file.uploads) {
        if (known == resource) std::memcpy(&plan.constants[slot.offset], data, bytes);
    }
    return slot;
}

/// A resource, and those that share its memory, at the end of a buffer.
Slot place(const Program& program, uint32_t resource, uint32_t buffer, uint64_t& end) {
    Slot slot{buffer, end, 0};
    for (const Resource& other : program.resources) {
        if (other.storage == program.resources[resource].storage) {
            slot.bytes = std::max(slot.bytes, aligned(other.bytes, kAlignment));
        }
    }
    end += slot.bytes;
    return slot;
}

}  // namespace

bool shares_inputs(const Device& device, const Program& program, const Use& use) {
    const bool one = program.segments.size() == 1 && program.segments[0].graph() != nullptr;
    return one && use.states.empty() && (use.ports == Ports::kDevice || device.direct_memory()) &&
           std::none_of(program.resources.begin(), program.resources.end(),
                        [](const Resource& r) { return r.role == Role::kIntermediate; });
}

ComputePlan::ComputePlan(const ParsedFile& file, const DeviceTraits& traits, const Graphs& graphs,
                         const std::vector<StatePair>& states, bool inputs_share) {
    place_resources(file.program, states, inputs_share);
    Plan plan;
    plan.work_bytes = shared_bytes_;
    for (size_t number = 0; number < graphs.count; ++number) {
        plan.dispatches.clear();
        plan.saved_bytes = 0;
        plan_segments(file, traits, graphs.at ? &graphs.at(number) : nullptr, plan);
        if (number + 1 == graphs.count) text = json_of(plan);
        dispatches.push_back(std::move(plan.dispatches));
    }
    constants = std::move(plan.constants);
    use.work = plan.work_bytes;
    use.saved = plan.saved_bytes;
    use.constants = constants.size();
}

/// Inputs, outputs, and what one segment leaves for another.
void ComputePlan::place_resources(const Program& program, const std::vector<StatePair>& states,
                                  bool inputs_share) {
    uint64_t inputs_end = 0;  // in the work buffer
    slots.resize(program.resources.size());
    std::map<uint32_t, Slot> storages;  // an alias group shares one
    // The two buffers change places after each frame: both have a state at the same offset.
    for (const StatePair& state : states) {
        const uint32_t output = program.outputs[state.output].resource;
        const uint32_t input = program.inputs[state.input].resource;
        uint64_t end = use.outputs;
        storages[program.resources[output].storage] =
            place(program, output, BUFFER_OUTPUTS, use.outputs);
        storages[program.resources[input].storage] = place(program, input, BUFFER_INPUTS, end);
        use.inputs = use.outputs = std::max(use.outputs, end);
    }
    for (size_t i = 0; i < slots.size(); ++i) {
        const Resource& resource = program.resources[i];
        const auto index = static_cast<uint32_t>(i);
        if (resource.role == Role::kConstant) continue;
        if (resource.image && !has_packed_copy(program, index)) continue;
        const auto known = storages.find(resource.storage);
        if (known != storages.end()) {
            slots[i] = known->second;
            continue;
        }
        uint32_t buffer = BUFFER_WORK;
        uint64_t* end = &shared_bytes_;
        if (resource.home == Role::kInput) {
            if (!inputs_share) buffer = BUFFER_INPUTS;
            end = inputs_share ? &inputs_end : &use.inputs;
        } else if (resource.home == Role::kOutput) {
            buffer = BUFFER_OUTPUTS;
            end = &use.outputs;
        }
        slots[i] = place(program, index, buffer, *end);
        storages[resource.storage] = slots[i];
    }
    if (!states.empty()) use.inputs = use.outputs = std::max(use.inputs, use.outputs);
}

void ComputePlan::plan_segments(const ParsedFile& file, const DeviceTraits& traits,
                                const Graph* given, Plan& plan) {
    for (size_t i = 0; i < file.program.segments.size(); ++i) {
        const size_t first = plan.dispatches.size();
        if (!file.program.segments[i].graph()) {
            plan_shader(file, static_cast<uint32_t>(i), plan);
        } else {
            Graph graph = given ? *given : read_graph(file, i);
            make_plan(graph, slots, traits, shared_bytes_, plan);
        }
        for (size_t at = first; at < plan.dispatches.size(); ++at) {
            plan.dispatches[at].part = static_cast<uint32_t>(i);
        }
    }
}

/// A compute shader of the VGF, between graphs.
void ComputePlan::plan_shader(const ParsedFile& file, uint32_t index, Plan& plan) {
    const Segment& segment = file.program.segments[index];
    Dispatch dispatch{};
    dispatch.segment = index;
    dispatch.kernel = "shader";
    dispatch.text = segment.name;
    for (const Binding& binding : segment.bindings) {
        const Resource& resource = file.program.resources[binding.resource];
        if (resource.descriptor == kDescriptorTensor) {
            throw Error(text_of(segment, index) +
                        ": its compute shader takes a tensor, which needs VK_ARM_tensors: "
                        "use the engine `native` or `layer`");
        }
        if (resource.image) {
            // No buffer of ours, but dispatches wait for one another as if it were one.
            const Slot texels{static_cast<uint32_t>(kBuffers) + binding.resource, 0,
                              resource.bytes};
            dispatch.reads.push_back(texels);
            if (binding.written) dispatch.writes.push_back(texels);
            continue;
        }
        Slot& slot = slots[binding.resource];
        if (resource.role == Role::kConstant && slot.bytes == 0) {
            slot = upload_slot(file, binding.resource, plan);
        }
        dispatch.reads.push_back(slot);
        if (resource.role != Role::kConstant) dispatch.writes.push_back(slot);
    }
    plan.dispatches.push_back(std::move(dispatch));
}

}  // namespace arm_runtime::vgf
