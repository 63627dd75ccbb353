// What the compute engine makes of a program before it asks the device for anything: its
// dispatches, and where in the four buffers everything lies.
#pragma once

#include <vector>

#include "engine.hpp"
#include "plan/plan.hpp"

namespace arm_runtime::vgf {

/// Whether inputs lie in the work buffer, where what comes after their last readers takes their
/// place: each run is given them again. Only where no segment leaves anything for another, and
/// whoever writes them writes there.
bool shares_inputs(const Device& device, const Program& program, const Use& use);

struct ComputePlan {
    /// Throws Error: a segment that the engine does not run.
    /// `inputs_share`: see shares_inputs.
    ComputePlan(const ParsedFile& file, const DeviceTraits& traits, const Graphs& graphs,
                const std::vector<StatePair>& states, bool inputs_share);

    ResourceSlots slots;
    std::vector<std::vector<Dispatch>> dispatches;  ///< by the number of the sizes
    std::vector<uint8_t> constants;
    MemoryUse use{};  ///< without a VGF's images
    std::string text;

  private:
    void place_resources(const Program& program, const std::vector<StatePair>& states,
                         bool inputs_share);
    void plan_segments(const ParsedFile& file, const DeviceTraits& traits, const Graph* given,
                       Plan& plan);
    void plan_shader(const ParsedFile& file, uint32_t index, Plan& plan);

    uint64_t shared_bytes_ = 0;  ///< of the work buffer: what segments pass on
};

}  // namespace arm_runtime::vgf
