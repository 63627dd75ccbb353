// Element types: Vulkan's formats, ours, and conversions at the edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {

/// The type of a VkFormat's elements; nothing if this runtime cannot pass it to a caller.
std::optional<DataType> type_of(int32_t format);

/// Copies int64 elements to int32 ones. False, and `bad` is the first offender, if one is out of
/// range.
bool narrow(const int64_t* from, int32_t* to, size_t count, int64_t* bad);

void widen(const int32_t* from, int64_t* to, size_t count);

}  // namespace arm_runtime::vgf
