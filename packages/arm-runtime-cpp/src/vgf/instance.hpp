// Choosing a physical device.
#pragma once

#include <string>
#include <vector>

#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

/// A Vulkan instance, and what its devices can do.
class Instance {
  public:
    struct Candidate {
        vk::raii::PhysicalDevice handle;
        vk::PhysicalDeviceProperties properties;
        std::vector<std::string> extensions;
        bool has(const char* extension) const;
    };

    /// `emulated`: with Arm's emulation layer.
    /// Throws Error, with what to install: no loader, no driver, or no emulation layer.
    explicit Instance(bool emulated);

    /// The fastest device that fits `wanted` (see Options::device), or nullptr; `graphs`: that has
    /// both Arm extensions.
    const Candidate* choose(const std::string& wanted, bool graphs) const;
    /// "0: NVIDIA H200, 1: llvmpipe (...)"
    std::string list() const;

  private:
    vk::raii::Instance handle_;
    std::vector<Candidate> candidates_;
};

}  // namespace arm_runtime::vgf
