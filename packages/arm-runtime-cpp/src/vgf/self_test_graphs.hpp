// Small graphs whose results are known: one for each kernel, and for each type for which the
// kernel has other code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace arm_runtime::vgf {

using Bytes = std::vector<uint8_t>;

struct TestGraph {
    Graph graph;  ///< resources are its inputs, then its outputs
    std::vector<Bytes> inputs;
    std::vector<Bytes> outputs;  ///< integers: exact; floats: within 0.001
};

/// The graph of that kernel, for that type (see Dispatch::tested_type). Throws Error: it has none.
TestGraph test_graph(const std::string& kernel, const std::string& tested_type);

}  // namespace arm_runtime::vgf
