// What our kernels, and the compute shaders of VGFs, use of a device where it is enabled.
#pragma once

#include <string>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

/// Of an application that leaves the version out.
constexpr const char* kNoVersion =
    "api_version is 0: give that of VkApplicationInfo, such as VK_API_VERSION_1_3";

/// Sets a feature in a chain of structures, of a version or of extensions. False: none has it.
bool set_feature(void* chain, const arm_vgf::Feature& feature);

/// Features that a device has or that are enabled.
class FeatureSet {
  public:
    /// Those of a chain of structures, which may hold others, and those of Vulkan 1.0 if they are
    /// apart: as in VkDeviceCreateInfo.
    explicit FeatureSet(const void* chain = nullptr,
                        const VkPhysicalDeviceFeatures* base = nullptr);

    bool has(const char* name) const;

  private:
    void add(const VkBaseInStructure* structure);

    std::vector<std::string> names_;
};

/// The rows for a device of this version, with these extensions and features.
std::vector<arm_vgf::Feature> used_features(uint32_t version,
                                            const std::vector<std::string>& extensions,
                                            const FeatureSet& features);

}  // namespace arm_runtime::vgf
