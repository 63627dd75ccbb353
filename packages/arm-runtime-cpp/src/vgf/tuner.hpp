// The compute engine with the variants of kernels that are right, and fastest, on a device.
#pragma once

#include "engine.hpp"

namespace arm_runtime::vgf {

/// Times variants of kernels that no earlier load did, in two seconds at most, and tests kernels
/// that were not tested on this device; both go to the device's facts. Where sizes vary, which
/// `graphs` says then, no variants are timed: there is a plan for each size.
///
/// Throws Error as make_compute_engine does, and if a kernel computes wrongly on this device.
std::unique_ptr<Engine> make_tuned_engine(Device& device, const ParsedFile& file,
                                          const Options& options, const Graphs& graphs,
                                          const Use& use = {});

/// What the device's facts say of kernels.
DeviceTraits tuned_traits(Device& device, const Options& options);

}  // namespace arm_runtime::vgf
