// What is behind arm_vgf::Device.
#pragma once

#include "arm_vgf/vgf.hpp"
#include "device.hpp"

namespace arm_vgf {

class Device::Impl {
  public:
    explicit Impl(const Adopted& adopted)
        : owner_(std::make_unique<arm_runtime::vgf::Device>(adopted)), device(*owner_) {}
    ~Impl() {
        // What the driver has stays as it is: it is the parent's.
        if (!device.is_forked()) return;
        [[maybe_unused]] const arm_runtime::vgf::Device* parents = owner_.release();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

  private:
    std::unique_ptr<arm_runtime::vgf::Device> owner_;

  public:
    arm_runtime::vgf::Device& device;
};

}  // namespace arm_vgf
