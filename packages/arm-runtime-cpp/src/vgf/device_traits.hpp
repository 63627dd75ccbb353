// What planning needs to know of a device.
#pragma once

#include "device.hpp"
#include "plan/plan.hpp"

namespace arm_runtime::vgf {

DeviceTraits traits_of(const Device& device);

}  // namespace arm_runtime::vgf
