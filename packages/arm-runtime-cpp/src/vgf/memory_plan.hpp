// Where blocks lie in one allocation, so that those never needed at once may share memory.
#pragma once

#include <cstdint>
#include <vector>

namespace arm_runtime::vgf {

/// The next multiple of `alignment`, a power of two. Throws Error: beyond 64 bits.
uint64_t aligned(uint64_t offset, uint64_t alignment);

struct Block {
    uint64_t size = 0;       ///< in bytes
    uint64_t alignment = 1;  ///< a power of two
    uint32_t first = 0;      ///< the first step that uses it
    uint32_t last = 0;       ///< the last one
    uint64_t offset = 0;     ///< the result
    bool placed = false;     ///< the offset is given
};

/// Sets every block's offset; blocks whose steps overlap do not, unless both were placed before.
/// Largest first, each at the lowest offset that is free in all its steps. Deterministic.
///
/// Returns the size of the allocation. Throws Error if that overflows.
uint64_t plan(std::vector<Block>& blocks);

}  // namespace arm_runtime::vgf
