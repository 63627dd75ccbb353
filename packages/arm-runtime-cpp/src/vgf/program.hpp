// A program: what a VGF says that counts as long as it runs, all of it owned. It is checked, so
// that whatever uses it need not. Code and constants stay in the file: see parsed_file.hpp.
#pragma once

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
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
};

/// Bytes of push constants. A VGF has no values for them.
struct PushRange {
    uint32_t offset = 0;
    uint32_t bytes = 0;  ///< 0: none
};

struct GraphSegment {
    std::vector<Constant> constants;
};

/// A compute shader.
struct ShaderSegment {
    std::array<uint32_t, 3> groups{};
    PushRange push;                   ///< what it reads
    std::set<uint32_t> capabilities;  ///< spv::Capability: what its code needs of the device
};

struct Segment {
    std::string name;
    std::vector<Binding> bindings;
    std::variant<GraphSegment, ShaderSegment> kind;

    const GraphSegment* graph() const { return std::get_if<GraphSegment>(&kind); }
    const ShaderSegment* shader() const { return std::get_if<ShaderSegment>(&kind); }
    PushRange push() const { return shader() ? shader()->push : PushRange{}; }
};

/// "VGF segment 0 ('name')", for errors.
inline std::string text_of(const Segment& segment, size_t index) {
    return "VGF segment " + std::to_string(index) + " ('" + segment.name + "')";
}

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
    /// What sizes depend on; the resources have those of every symbol's `most`.
    std::vector<Symbol> symbols;
    bool had_unknown_sizes = false;  ///< in the file, whose code has tensors of a rank alone

    bool takes_push_constants() const {
        return std::any_of(segments.begin(), segments.end(),
                           [](const Segment& s) { return s.push().bytes != 0; });
    }
};

}  // namespace arm_runtime::vgf
