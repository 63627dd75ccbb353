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
        VkPhysicalDevice handle;
        VkPhysicalDeviceProperties properties;
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

    const InstanceCalls& calls() const { return calls_; }

  private:
    OwnedInstance handle_;
    InstanceCalls calls_;
    std::vector<Candidate> candidates_;
};

}  // namespace arm_runtime::vgf
