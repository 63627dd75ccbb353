#include "check_code.hpp"

#include <map>
#include <set>

#include "spirv.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

std::string text(uint64_t number) { return std::to_string(number); }

SpirvKind kind_of(VkDescriptorType type) {
    if (type == kDescriptorTensor) return SpirvKind::kTensor;
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ? SpirvKind::kUniformBuffer
                                                     : SpirvKind::kStorageBuffer;
}

const char* name_of(SpirvKind kind) {
    switch (kind) {
        case SpirvKind::kTensor:
            return "tensor";
        case SpirvKind::kUniformBuffer:
            return "uniform buffer";
        default:
            return "storage buffer";
    }
}

void check_bindings(const std::vector<Resource>& resources, const Segment& segment,
                    const SpirvInterface& code, const std::string& where) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> bound;
    for (const Binding& b : segment.bindings) bound[{b.set, b.binding}] = b.resource;
    for (const auto& [slot, variable] : code.variables) {
        const std::string place = "set " + text(slot.first) + ", binding " + text(slot.second);
        const auto found = bound.find(slot);
        if (found == bound.end()) {
            throw Error(where + ": its code uses " + place + ", which the segment does not bind");
        }
        const SpirvKind given = kind_of(resources[found->second].descriptor);
        if (variable.type.kind != given) {
            throw Error(where + ": its code takes no " + name_of(given) + " at " + place +
                        ", which is what resource " + text(found->second) + " is there");
        }
    }
}

void check_push_constants(Segment& segment, const SpirvInterface& code, const std::string& where) {
    if (code.push_end == 0) segment.push = {0, 0};
    const uint64_t begin = segment.push.offset;
    const uint64_t end = begin + segment.push.bytes;
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

void check_code(const std::vector<Resource>& resources, Segment& segment,
                const std::string& where) {
    const SpirvInterface code =
        read_interface(segment.code, segment.code_words, segment.graph, segment.entry_point, where);
    if (!code.has_entry_point) {
        throw Error(where + ": its code has no entry point '" + segment.entry_point + "'");
    }
    check_bindings(resources, segment, code, where);
    check_push_constants(segment, code, where);
    std::set<uint32_t> given;
    for (const Constant& c : segment.constants) given.insert(c.id);
    for (const uint32_t id : code.constants) {
        if (!given.count(id)) {
            throw Error(where + ": its code uses graph constant " + text(id) +
                        ", which the segment does not have");
        }
    }
}

}  // namespace arm_runtime::vgf
