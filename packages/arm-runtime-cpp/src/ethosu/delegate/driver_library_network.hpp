// Networks on an Ethos-U behind Arm's Linux driver stack, by its user library.
#pragma once

#include "network.hpp"

namespace arm_runtime::ethosu {

/// As `open_network`; `device` is a path such as /dev/ethosu0. Commands and weights go to the
/// driver once, here. The kernel driver takes command streams in containers of version 2 only.
Network* open_on_driver_library(const char* device, const Payload& payload,
                                const Allocator& allocator, Report report);

}  // namespace arm_runtime::ethosu
