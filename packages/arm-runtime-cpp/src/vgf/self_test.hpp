// Kernels are tried on a device before they are trusted: some drivers compute wrongly.
#pragma once

#include "engine.hpp"

namespace arm_runtime::vgf {

/// Whether a kernel, planned for these traits, gives the known results of its graph.
/// `tested_type`: see Dispatch.
bool computes(Device& device, const char* kernel, const char* tested_type,
              const DeviceTraits& traits);

/// Runs a small graph with each of the engine's kernels that no load tested on this device and
/// driver, and notes in the device's facts which are right. False: some are not; `traits.wrong` has
/// more labels then, and plans must be made again. Each call that returns false adds one at least.
/// `wrong` fails in any case: "gemm", "gemm+dot", "gemm.fp32". Without `unknown`, nothing runs:
/// what was not tested counts as right.
///
/// Throws Error: the engine runs a kernel that `traits.wrong` has: there is no other.
bool test_kernels(Device& device, DeviceTraits& traits, const Engine& engine,
                  const std::string& wrong, bool unknown);

}  // namespace arm_runtime::vgf
