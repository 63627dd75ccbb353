// Whether a segment gives its code what it asks for.
#pragma once

#include <string>
#include <vector>

#include "parsed_file.hpp"

namespace arm_runtime::vgf {

/// Compares a segment's code with its bindings, constants and push constants: drivers do not.
/// Notes which bindings the code writes and, of a shader, which push constants it reads and what it
/// needs of the device.
///
/// Throws Error, whose text begins with `where`: the code asks for something else.
void check_code(const std::vector<Resource>& resources, Segment& segment, const SegmentCode& code,
                PushRange push, const std::string& where);

}  // namespace arm_runtime::vgf
