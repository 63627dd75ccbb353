// Compiled pipelines, kept in a file from one process to the next.
#pragma once

#include <filesystem>
#include <string>

#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

class PipelineCache {
  public:
    /// Reads what an earlier process left for the same device and driver. A file that is missing,
    /// cut or foreign counts as empty. An empty `folder` keeps nothing.
    PipelineCache(const DeviceCalls& calls, VkDevice device,
                  const VkPhysicalDeviceProperties& properties, const std::string& folder);

    VkPipelineCache handle() const { return handle_; }

    /// Writes the file if pipelines were added since; a failure to write is no error.
    void save();

  private:
    const DeviceCalls& calls_;
    VkDevice device_;
    std::filesystem::path file_;
    Owned<VkPipelineCache> handle_;
    size_t saved_ = 0;  ///< bytes of the cache that the file holds
};

}  // namespace arm_runtime::vgf
