// What must hold of a SPIR-V module before a driver gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "spirv_types.hpp"

namespace arm_runtime::vgf {

/// A variable with a descriptor.
struct SpirvVariable {
    SpirvDescriptor type;
    bool written;  ///< unless it is decorated NonWritable
};

/// The parts of a module's interface that a VGF must agree with.
struct SpirvInterface {
    bool has_entry_point = false;
    std::set<uint32_t> constants;  ///< ids that OpGraphConstantARM asks for
    std::set<uint32_t> capabilities;
    /// By descriptor set and binding, which several may share.
    std::multimap<std::pair<uint32_t, uint32_t>, SpirvVariable> variables;
    uint64_t push_begin = 0;  ///< bytes of push constants that it may read
    uint64_t push_end = 0;    ///< 0: none; kUnknownSize: they have no layout
};

/// Reads a module's interface; checks its header and that its instructions fill it exactly.
///
/// Throws Error, whose text begins with `where`. `graph`: the entry point is one of a graph
/// (SPV_ARM_graph) rather than of a compute shader.
SpirvInterface read_interface(const uint32_t* words, size_t count, bool graph,
                              const std::string& entry_point, const std::string& where);

}  // namespace arm_runtime::vgf
