// The pipelines between an application's buffers and images and its programs: of a device, so that
// no program compiles them again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "vulkan_api.hpp"

namespace arm_runtime::vgf {

class Device;

/// A format of images that inputs are read from, or outputs are written to.
struct PortFormat {
    const char* name;
    VkFormat format;
    uint32_t channels;
    float scale;              ///< the number of a texel of 1
    uint32_t storage_format;  ///< spv::ImageFormat, of outputs on every device; 0: see `written`
    DataType number;          ///< of an integer tensor with the texels' numbers; or kFloat32: none
    bool written;             ///< an output, with shaderStorageImageWriteWithoutFormat at least
    bool depth;
};

/// Whether a tensor of this type has the numbers of a format's texels.
bool suits(const PortFormat& format, DataType type);

/// Throws Error: it is not read, or not written; `text` names the tensor, and `type` is its type.
const PortFormat& port_format(VkFormat format, bool output, DataType type, const std::string& text);

class PortKernels {
  public:
    /// Nothing is compiled yet.
    explicit PortKernels(const Device& device);

    /// What is bound: the tensor in the program and the buffer or image of the application.
    enum class Kind : uint8_t { kBuffer, kSampled, kStorage };
    struct Layouts {
        vk::raii::DescriptorSetLayout set{nullptr};
        vk::raii::PipelineLayout pipeline{nullptr};
    };
    const Layouts& layouts(Kind kind) const { return layouts_[static_cast<size_t>(kind)]; }

    /// Compiles those of a kind that are not compiled, while Device::loading is held.
    void compile(Kind kind);
    /// A compiled one; `format` is of images that are written. Throws Error: the device was made
    /// without the feature for this format; `text` names the tensor.
    vk::Pipeline pipeline(Kind kind, const PortFormat* format, const std::string& text) const;

    /// Ints of push constants.
    static constexpr size_t kPushInts = 8;

  private:
    void add(Kind kind, const char* kernel, uint32_t image_format);

    const Device& device_;
    bool any_format_;  ///< shaders write images without naming their format
    std::vector<Layouts> layouts_;
    std::map<std::pair<Kind, uint32_t>, vk::raii::Pipeline> pipelines_;  ///< by spv::ImageFormat
};

}  // namespace arm_runtime::vgf
