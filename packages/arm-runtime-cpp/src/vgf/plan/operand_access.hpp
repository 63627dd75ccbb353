// How a program reads an operand that is broadcast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arm_runtime::vgf {

struct Access {
    uint32_t kind;         ///< ACCESS_... of kernels/steps.h
    int32_t channels = 0;  ///< of ACCESS_CHANNEL
    std::vector<int32_t>
        block;  ///< of ACCESS_STRIDED: rank, then sizes and strides from the inside
};

/// How an operand of `shape` is read for elements of a result of `result`. TOSA's broadcasting: of
/// one rank, and sizes of 1 repeat.
Access access_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& result);

}  // namespace arm_runtime::vgf
