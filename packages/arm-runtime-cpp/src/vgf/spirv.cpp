#include "spirv.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <spirv/unified1/spirv.hpp>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr size_t kHeaderWords = 5;

/// Whether the string literal in these words is `text`.
bool is_text(const uint32_t* words, size_t count, const std::string& text) {
    return text.size() < count * sizeof(uint32_t) &&
           std::memcmp(words, text.c_str(), text.size() + 1) == 0;
}

}  // namespace

SpirvInterface read_interface(const uint32_t* words, size_t count, bool graph,
                              const std::string& entry_point, const std::string& where) {
    if (count < kHeaderWords || words[0] != spv::MagicNumber)
        throw Error(where + ": its code is not SPIR-V");
    SpirvInterface found;
    SpirvTypes types;
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> variables;  // pointer type and storage class
    std::map<uint32_t, uint32_t> sets;
    std::map<uint32_t, uint32_t> slots;
    std::set<uint32_t> only_read;
    for (size_t at = kHeaderWords; at < count;) {
        const uint32_t* const op = words + at;
        const size_t length = op[0] >> 16;
        if (length == 0 || length > count - at) {
            throw Error(where + ": the SPIR-V instruction at word " + std::to_string(at) +
                        " has length " + std::to_string(length) + ", and " +
                        std::to_string(count - at) + " words are left");
        }
        types.note(op, length);
        const uint32_t code = op[0] & 0xffff;
        if (code == spv::OpGraphConstantARM && length == 4) {
            found.constants.insert(op[3]);
        } else if (code == spv::OpCapability && length == 2) {
            found.capabilities.insert(op[1]);
        } else if (code == spv::OpVariable && length >= 4) {
            variables[op[2]] = {op[1], op[3]};
        } else if (code == spv::OpDecorate && length == 4 && op[2] == spv::DecorationBinding) {
            slots[op[1]] = op[3];
        } else if (code == spv::OpDecorate && length == 4 &&
                   op[2] == spv::DecorationDescriptorSet) {
            sets[op[1]] = op[3];
        } else if (code == spv::OpDecorate && length == 3 && op[2] == spv::DecorationNonWritable) {
            only_read.insert(op[1]);
        } else if (graph && code == spv::OpGraphEntryPointARM && length > 2) {
            found.has_entry_point |= is_text(op + 2, length - 2, entry_point);
        } else if (!graph && code == spv::OpEntryPoint && length > 3 &&
                   op[1] == spv::ExecutionModelGLCompute) {
            found.has_entry_point |= is_text(op + 3, length - 3, entry_point);
        }
        at += length;
    }
    for (const auto& [id, variable] : variables) {
        const auto [pointer, storage_class] = variable;
        if (storage_class == spv::StorageClassPushConstant) {
            const auto [begin, end] = types.span(pointer);
            found.push_begin = found.push_end == 0 ? begin : std::min(found.push_begin, begin);
            found.push_end = std::max(found.push_end, end);
        }
        const auto set = sets.find(id);
        const auto slot = slots.find(id);
        if (set == sets.end() || slot == slots.end()) continue;
        found.variables.insert(
            {{set->second, slot->second}, {types.descriptor(pointer), only_read.count(id) == 0}});
    }
    return found;
}

}  // namespace arm_runtime::vgf
