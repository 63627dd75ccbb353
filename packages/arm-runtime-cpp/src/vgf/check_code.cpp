#include "check_code.hpp"

#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "spirv.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

std::string text(uint64_t number) { return std::to_string(number); }

SpirvKind kind_of(VkDescriptorType type) {
    switch (type) {
        case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
            return SpirvKind::kUniformBuffer;
        case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
            return SpirvKind::kStorageBuffer;
        case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
            return SpirvKind::kStorageImage;
        case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
            return SpirvKind::kSampledImage;
        case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
            return SpirvKind::kCombinedImageSampler;
        default:
            return SpirvKind::kTensor;
    }
}

const char* name_of(SpirvKind kind) {
    switch (kind) {
        case SpirvKind::kTensor:
            return "tensor";
        case SpirvKind::kUniformBuffer:
            return "uniform buffer";
        case SpirvKind::kStorageImage:
            return "storage image";
        case SpirvKind::kSampledImage:
            return "sampled image";
        case SpirvKind::kCombinedImageSampler:
            return "combined image sampler";
        default:
            return "storage buffer";
    }
}

const char* name_of(SpirvNumber number) {
    switch (number) {
        case SpirvNumber::kFloat:
            return "floating-point numbers";
        case SpirvNumber::kSigned:
            return "signed integers";
        case SpirvNumber::kUnsigned:
            return "unsigned integers";
        default:
            return "numbers not of 32 bits";
    }
}

void check_image(const ImageFormat& format, const SpirvDescriptor& code, const std::string& where) {
    if (!code.plain) {
        throw Error(where +
                    " its code takes an image that is not two-dimensional, of one layer and "
                    "one sample");
    }
    if (code.texel != format.number) {
        throw Error(where + " its code takes an image of " + name_of(code.texel) + ", and " +
                    format.name + " has " + name_of(format.number));
    }
    if (code.format != spv::ImageFormatUnknown && code.format != format.spirv) {
        throw Error(where + " its code takes an image of another format than " + format.name +
                    " (SPIR-V's number " + text(code.format) + ")");
    }
}

/// Resources that share memory with an image are copies of one another: of two in one segment, one
/// would not see what is written to the other.
void check_groups(const std::vector<Resource>& resources, const Segment& segment,
                  const std::string& where) {
    struct Use {
        uint32_t resource;
        bool image = false;
        bool written = false;
        bool several = false;
    };
    std::map<uint32_t, Use> uses;
    for (const Binding& b : segment.bindings) {
        const Resource& resource = resources[b.resource];
        Use& use = uses.emplace(resource.storage, Use{b.resource}).first->second;
        use.image |= resource.image.has_value();
        use.written |= b.written;
        use.several |= use.resource != b.resource;
        if (use.image && use.written && use.several) {
            throw Error(where + ": it takes resources " + text(use.resource) + " and " +
                        text(b.resource) +
                        ", which share memory, one as an image, and may write "
                        "to one: that takes two segments");
        }
    }
}

void check_bindings(const std::vector<Resource>& resources, Segment& segment,
                    const SpirvInterface& code, const std::string& where) {
    std::map<std::pair<uint32_t, uint32_t>, Binding*> bound;
    for (Binding& b : segment.bindings) {
        bound[{b.set, b.binding}] = &b;
        b.written = !resources[b.resource].image;
    }
    for (const auto& [slot, variable] : code.variables) {
        const std::string place = "set " + text(slot.first) + ", binding " + text(slot.second);
        const auto found = bound.find(slot);
        if (found == bound.end()) {
            throw Error(where + ": its code uses " + place + ", which the segment does not bind");
        }
        Binding& binding = *found->second;
        const Resource& resource = resources[binding.resource];
        const SpirvKind given = kind_of(resource.descriptor);
        if (variable.type.kind != given) {
            throw Error(where + ": its code takes no " + name_of(given) + " at " + place +
                        ", which is what resource " + text(binding.resource) + " is there");
        }
        if (!resource.image) continue;
        check_image(*resource.image->format, variable.type, where + ": " + place + ":");
        binding.written |= given == SpirvKind::kStorageImage && variable.written;
    }
    check_groups(resources, segment, where);
}

void check_push_constants(PushRange push, const SpirvInterface& code, const std::string& where) {
    const uint64_t begin = push.offset;
    const uint64_t end = begin + push.bytes;
    if (code.push_end == kUnknownSize) {
        throw Error(where + ": the layout of its code's push constants cannot be told");
    }
    if (code.push_end != 0 && (code.push_begin < begin || code.push_end > end)) {
        throw Error(where + ": its code reads bytes " + text(code.push_begin) + " to " +
                    text(code.push_end) + " of push constants, and the segment has " +
                    (end == 0 ? "none" : text(begin) + " to " + text(end)));
    }
}

}  // namespace

void check_code(const std::vector<Resource>& resources, Segment& segment, const SegmentCode& code,
                PushRange push, const std::string& where) {
    const GraphSegment* const graph = segment.graph();
    const SpirvInterface found =
        read_interface(code.words, code.count, graph != nullptr, code.entry_point, where);
    if (!found.has_entry_point) {
        throw Error(where + ": its code has no entry point '" + code.entry_point + "'");
    }
    check_bindings(resources, segment, found, where);
    check_push_constants(push, found, where);
    std::set<uint32_t> given;
    if (graph != nullptr) {
        for (const Constant& c : graph->constants) given.insert(c.id);
    } else {
        auto& shader = std::get<ShaderSegment>(segment.kind);
        shader.push = found.push_end == 0 ? PushRange{} : push;
        shader.capabilities = found.capabilities;
    }
    for (const uint32_t id : found.constants) {
        if (!given.count(id)) {
            throw Error(where + ": its code uses graph constant " + text(id) +
                        ", which the segment does not have");
        }
    }
}

}  // namespace arm_runtime::vgf
