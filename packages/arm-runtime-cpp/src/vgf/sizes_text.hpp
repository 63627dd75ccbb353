// What a caller says of sizes that a file leaves open, as a text.
#pragma once

#include <string>
#include <vector>

#include "graph/size_expression.hpp"

namespace arm_runtime::vgf {

struct SaidSizes {
    std::vector<std::vector<SizeExpression>> shapes;  ///< of the first inputs
    std::vector<Symbol> symbols;
};

/// Reads shapes in brackets, then the bounds of the names in them: "[2, 4]", or
/// "[n, 2*m+1] [m] n=1..8 m=2..16".
///
/// Throws Error: it is no such text, a name has no bounds, or there are more than four names.
SaidSizes read_sizes_text(const std::string& text);

}  // namespace arm_runtime::vgf
