// Shapes and other lists of numbers in errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arm_runtime::vgf {

/// "[1, 8, 8, 3]".
inline std::string shape_text(const std::vector<int64_t>& shape) {
    std::string out;
    for (const int64_t size : shape) out += (out.empty() ? "" : ", ") + std::to_string(size);
    return "[" + out + "]";
}

}  // namespace arm_runtime::vgf
