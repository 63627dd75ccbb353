// Files whose inputs have sizes of -1: whoever runs one says them.
#pragma once

#include <string>

#include "parsed_file.hpp"

namespace arm_runtime::vgf {

bool is_open(const std::vector<int64_t>& shape);

/// Whether shapes may be one: they have the same rank, and sizes that are equal or -1 in one.
bool may_be_one(const std::vector<int64_t>& one, const std::vector<int64_t>& other);

/// Gives resources of a program, whose sizes may be -1, those that `text` says (see
/// read_sizes_text) and those that follow from them. Names in the text become symbols, with
/// samples of the graph. Of a program without unknown sizes, nothing changes.
///
/// Throws Error: a size of an input is said by nobody, or what is said does not fit; the program is
/// not of one graph; or an operator refuses its operands at these sizes.
void set_unknown_sizes(ParsedFile& file, const std::string& text);

}  // namespace arm_runtime::vgf
