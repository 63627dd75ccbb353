// Compiled pipelines, kept in a file from one process to the next.
#pragma once

#include <string>

#include "cache_file.hpp"
#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

/// "UUID-VENDOR-DEVICE-DRIVER": what a device's pipelines fit.
std::string cache_key(const vk::PhysicalDeviceProperties& properties);

class PipelineCache {
  public:
    /// Starts with what an earlier process left in `file`, for the same device and driver.
    PipelineCache(const vk::raii::Device& device, CacheFile file);

    const vk::raii::PipelineCache& handle() const { return handle_; }

    /// Writes the file if pipelines were added since; a failure to write is no error.
    void save();

  private:
    CacheFile file_;
    vk::raii::PipelineCache handle_{nullptr};
    size_t saved_ = 0;  ///< bytes of the cache that the file holds
};

}  // namespace arm_runtime::vgf
