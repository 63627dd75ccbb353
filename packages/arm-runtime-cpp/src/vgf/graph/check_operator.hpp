// Whether an operator of a graph is one of TOSA 1.0: operands, types, attributes, shapes.
#pragma once

#include "graph.hpp"

namespace arm_runtime::vgf {

/// Throws Error, which says what is wrong with the operator, not where it is.
///
/// Sources: TOSA 1.0.1, chapter 2 (arguments, supported data types, ERROR_IF and REQUIRE
/// statements that no tensor's contents decide, limits of level 8K). Profiles and extensions are
/// not asked for: what a VGF holds, its model converter has let pass.
void check_operator(const Graph& graph, const Operator& op);

/// The same, and gives results of which the code says the rank alone their shapes.
void infer_operator(Graph& graph, const Operator& op);

}  // namespace arm_runtime::vgf
