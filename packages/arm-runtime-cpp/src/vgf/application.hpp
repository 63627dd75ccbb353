// What is behind arm_vgf::Device.
#pragma once

#include "arm_vgf/vgf.hpp"
#include "device.hpp"

namespace arm_vgf {

class Device::Impl {
  public:
    explicit Impl(const Adopted& adopted) : device(adopted) {}
    arm_runtime::vgf::Device device;
};

}  // namespace arm_vgf
