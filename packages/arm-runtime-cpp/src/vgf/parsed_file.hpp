// A VGF that was read: its program, and where in the caller's file the program's code and constants
// lie. Engines are made of it, and keep the program alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

namespace arm_runtime::vgf {

/// The SPIR-V of a segment.
struct SegmentCode {
    const uint32_t* words = nullptr;
    size_t count = 0;
    std::string entry_point;
    std::vector<const void*> constants;  ///< the contents of the graph's, in their order
    bool sample = false;                 ///< its tensors have other sizes than the resources
};

/// The segment's graph as it is for other values of the symbols: other code, or the same code for
/// resources of other shapes.
struct Sample {
    std::vector<int64_t> values;
    std::vector<uint32_t> code;
    std::string entry_point;
    std::vector<std::pair<uint32_t, std::vector<int64_t>>> shapes;  ///< by resource
};

/// Contents of constants, by resource.
using Uploads = std::vector<std::pair<uint32_t, const void*>>;

struct ParsedFile {
    Program program;
    std::vector<SegmentCode> code;  ///< by segment
    Uploads uploads;                ///< what compute shaders read
    std::vector<Sample> samples;    ///< of a program with symbols
    std::vector<uint64_t> copy;     ///< of the file, if it was not aligned: what the rest points to
};

/// Reads a VGF; what it returns points into `data`. `sizes`: of inputs whose sizes the file leaves
/// open, as read_sizes_text takes them.
///
/// Source: VGF library 0.11 (decoder.hpp, its flatbuffer schema and docs/file_format).
/// Throws Error: malformed, or something in it that this runtime does not execute.
ParsedFile read_file(const void* data, size_t size, const std::string& sizes = {});

}  // namespace arm_runtime::vgf
