// What follows the VGF of a program whose sizes vary: the symbols, and the graph at other sizes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parsed_file.hpp"

namespace arm_runtime::vgf {

/// Bytes of the block at the end of a file; 0 if it has none. Readers of VGF do not see it: it is
/// in none of the file's sections.
///
/// Throws Error: it says that it is longer than the file.
size_t sizes_block_bytes(const uint8_t* data, size_t size);

/// Reads it: little-endian numbers of 32 bits, texts and tables padded with zeros to 4 bytes.
///
///     number of symbols; of each: least, most, bytes of the name, the name
///     number of samples; of each: a value for each symbol, bytes of the table, a VGF's module
///     table bytes of the block (64 bits), "ARMSIZE1"
///
/// Throws Error: it is malformed, or the program is not one graph of one module.
void read_sizes_block(const uint8_t* data, size_t size, ParsedFile& file);

}  // namespace arm_runtime::vgf
