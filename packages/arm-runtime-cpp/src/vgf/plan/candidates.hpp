// Variants of kernels that give the same integers and may differ in speed.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "planner.hpp"

namespace arm_runtime::vgf {

/// What a variant has other than the planner's own choice.
struct Candidate {
    int rows;   ///< rows of a thread's tile: times two to this power
    int split;  ///< threads that share a sum: times two to this power
    bool dot;   ///< integer dot products, where the device has them
};

/// Which of `count` variants of `kernel` the device's traits name for this group, whose
/// specialization so far and `sizes` tell it from others. The first, if there is but one.
size_t choose_variant(Group& group, const char* kernel, const DeviceTraits& device, size_t count,
                      std::initializer_list<int64_t> sizes);

/// The same of the kernels that are listed here. The first, of a group whose variant was chosen
/// before, and of floats: another would add in another order, and results would depend on what a
/// search found.
const Candidate& choose_candidate(Group& group, const DeviceTraits& device, bool integers,
                                  std::initializer_list<int64_t> sizes);

/// `value` times two to `power`, from 1 to `most`.
uint32_t scaled(uint32_t value, int power, uint32_t most);

}  // namespace arm_runtime::vgf
