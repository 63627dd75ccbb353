// A fused program while it is made.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace arm_runtime::vgf {

constexpr int kNoValue = -1;
constexpr uint32_t kNoTensor = ~0U;

/// A call of a function `step_NAME` of kernels/. Values are numbered from 0; a program's first two
/// are what the kernel before it leaves in r[0] and r[1].
struct Step {
    const char* name;
    uint32_t mode = 0;
    std::array<int, 3> operands{kNoValue, kNoValue, kNoValue};
    std::array<int32_t, 4> numbers{};
    int result = kNoValue;
    uint32_t tensor = kNoTensor;  ///< of load and store: its place is added to the first number
};

/// Whether the planner writes numbers for a step into memory.
inline bool has_numbers(const Step& step) {
    return step.tensor != kNoTensor ||
           std::any_of(step.numbers.begin(), step.numbers.end(), [](int32_t n) { return n != 0; });
}

class ProgramBuilder {
  public:
    /// Appends a step and returns the value that it makes.
    int add(Step step) {
        step.result = values_++;
        steps_.push_back(step);
        return step.result;
    }
    const std::vector<Step>& steps() const { return steps_; }
    std::vector<Step>& steps() { return steps_; }
    int values() const { return values_; }

  private:
    std::vector<Step> steps_;
    int values_ = 2;
};

}  // namespace arm_runtime::vgf
