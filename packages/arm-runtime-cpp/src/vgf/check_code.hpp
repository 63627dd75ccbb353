// Whether a segment gives its code what it asks for.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace arm_runtime::vgf {

/// Compares a segment's code with its bindings, constants and push constants: drivers do not.
/// Push constants that the code does not read are dropped, and which bindings it writes is noted.
///
/// Throws Error, whose text begins with `where`: the code asks for something else.
void check_code(const std::vector<Resource>& resources, Segment& segment, const std::string& where);

}  // namespace arm_runtime::vgf
