// A VGF as this runtime understands it: checked, so that whatever uses it need not.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"
#include "image_formats.hpp"

namespace arm_runtime::vgf {

enum class Role { kInput, kOutput, kIntermediate, kConstant };

/// What a VGF without a sampler's settings means.
struct Sampler {
    VkFilter min = VK_FILTER_NEAREST;
    VkFilter mag = VK_FILTER_NEAREST;
    VkSamplerAddressMode u = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    VkSamplerAddressMode v = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    VkBorderColor border = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
};

struct Image {
    const ImageFormat* format;
    uint32_t width;
    uint32_t height;
    Sampler sampler;  ///< of a combined image sampler
};

/// A tensor, or a buffer or an image of a compute shader.
struct Resource {
    Role role;
    VkDescriptorType descriptor;  ///< of a constant of graphs, which has none: tensor
    VkFormat format;
    std::vector<int64_t>
        shape;  ///< of an image: with its channels last; at least one dimension, each at least 1
    uint64_t bytes;
    uint32_t storage;  ///< equal for resources that share memory (an alias group)
    /// In whose memory it lies: that of its role, or of outputs if its alias group has several.
    Role home = Role::kIntermediate;
    std::optional<Image> image = std::nullopt;
};

/// Where a segment's code finds a resource.
struct Binding {
    uint32_t set = 0;
    uint32_t binding = 0;
    uint32_t resource = 0;
    bool written = false;  ///< false: the code only reads it, as far as an image's code says
};

/// A constant that a graph's code asks for by number.
struct Constant {
    uint32_t id;
    uint32_t resource;
    const void* data;  ///< `bytes` of its resource
};

/// Bytes of push constants. A VGF has no values for them.
struct PushRange {
    uint32_t offset;
    uint32_t bytes;  ///< 0: none
};

struct Segment {
    std::string name;
    bool graph;  ///< else a compute shader
    const uint32_t* code;
    size_t code_words;
    std::string entry_point;
    std::vector<Binding> bindings;
    std::vector<Constant> constants;
    std::array<uint32_t, 3> groups;   ///< of a compute shader
    PushRange push;                   ///< what a compute shader reads
    std::set<uint32_t> capabilities;  ///< spv::Capability: what its code needs of the device
    bool sample = false;              ///< its tensors have other sizes than the resources
};

/// The segment's graph as it is for other values of the symbols: other code, or the same code for
/// resources of other shapes.
struct Sample {
    std::vector<int64_t> values;
    std::vector<uint32_t> code;
    std::string entry_point;
    std::vector<std::pair<uint32_t, std::vector<int64_t>>> shapes;  ///< by resource
};

/// What a model takes or gives.
struct Port {
    std::string name;
    uint32_t resource;
    DataType type;
};

struct Program {
    std::vector<Resource> resources;
    std::vector<Segment> segments;  ///< in the order in which they run
    std::vector<Port> inputs;
    std::vector<Port> outputs;
    /// Contents of constants that compute shaders read, by resource.
    std::vector<std::pair<uint32_t, const void*>> uploads;
    /// What sizes depend on; the resources have those of every symbol's `most`.
    std::vector<Symbol> symbols;
    std::vector<Sample> samples;
    bool had_unknown_sizes = false;  ///< in the file, whose code has tensors of a rank alone
    bool takes_push_constants() const;
    std::vector<uint64_t> copy;  ///< of the file, if it was not aligned; the program points into it
};

/// Reads a VGF. The program points into `data`, which must outlive it. `sizes`: of inputs whose
/// sizes the file leaves open, as read_sizes_text takes them.
///
/// Source: VGF library 0.11 (decoder.hpp, its flatbuffer schema and docs/file_format).
/// Throws Error: malformed, or something in it that this runtime does not execute.
Program read_program(const void* data, size_t size, const std::string& sizes = {});

}  // namespace arm_runtime::vgf
