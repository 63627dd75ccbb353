// A program's graphs at each of its sizes.
#pragma once

#include <optional>

#include "engine.hpp"
#include "sizes.hpp"

namespace arm_runtime::vgf {

/// Of a program with symbols.
inline std::optional<SizedGraph> sized_graph(const ParsedFile& file) {
    if (file.program.symbols.empty()) return std::nullopt;
    return SizedGraph(file);
}

/// What an engine plans; both arguments must outlive its making.
inline Graphs graphs_at(const Sizes& sizes, std::optional<SizedGraph>& graph) {
    if (!graph) return {};
    return {sizes.count(),
            [&](size_t number) -> const Graph& { return graph->at(sizes.values(number)); }};
}

}  // namespace arm_runtime::vgf
