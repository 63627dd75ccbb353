// A fused program while it is made: steps in single assignment, then registers for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace arm_runtime::vgf {

constexpr int kNoValue = -1;
constexpr uint32_t kNoTensor = ~0U;

/// Values are numbered from 0; a program's first two are what the kernel before it leaves in the
/// registers 0 and 1.
struct Step {
    uint32_t code;  ///< STEP_... of kernels/steps.h
    uint32_t mode = 0;
    std::array<int, 3> operands{kNoValue, kNoValue, kNoValue};
    std::array<int32_t, 4> numbers{};
    int result = kNoValue;
    uint32_t tensor = kNoTensor;  ///< of LOAD and STORE: its place is added to the first number
};

class ProgramBuilder {
  public:
    /// Appends a step and returns the value that it makes.
    int add(Step step);
    const std::vector<Step>& steps() const { return steps_; }
    std::vector<Step>& steps() { return steps_; }

    /// The specialization constants, one a step, or nothing if the registers do not suffice.
    std::optional<std::vector<uint32_t>> encode() const;

  private:
    std::vector<Step> steps_;
    int values_ = 2;
};

}  // namespace arm_runtime::vgf
