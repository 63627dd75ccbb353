// Choosing a physical device.
#pragma once

#include <string>
#include <vector>

#include "matrix_units.hpp"
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

    /// An application's, which it keeps, with its only device: of this version, and with these
    /// extensions. Throws Error: `get_proc_addr` has no functions of Vulkan 1.1.
    Instance(PFN_vkGetInstanceProcAddr get_proc_addr, VkInstance instance,
             VkPhysicalDevice physical, uint32_t api_version);

    const vk::raii::Instance& handle() const { return handle_; }
    const Candidate& only() const { return candidates_.front(); }
    Candidate& only() { return candidates_.front(); }

    /// The fastest device that fits `wanted` (see Options::device), or nullptr; `graphs`: that has
    /// both Arm extensions.
    const Candidate* choose(const std::string& wanted, bool graphs) const;
    /// "0: NVIDIA H200, 1: llvmpipe (...)"
    std::string list() const;
    /// Of a device that has VK_KHR_cooperative_matrix and Vulkan 1.3.
    MatrixUnits matrix_units(const Candidate& device) const {
        return vgf::matrix_units(handle_, device.handle);
    }

  private:
    vk::raii::Instance handle_;
    std::vector<Candidate> candidates_;
};

}  // namespace arm_runtime::vgf
