// NumPy's .npy files, of the data types that ExecuTorch has.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstdint>
#include <string>
#include <vector>

namespace arm_runtime {

/// An array in row-major order.
struct Array {
    executorch::aten::ScalarType type = executorch::aten::ScalarType::Float;
    std::vector<int32_t> shape;
    std::vector<uint8_t> data;
};

/// Reads a file that may be malformed in any way (format version 1 to 3; bool, int8 to int64,
/// uint8, uint16, float16 to float64, and bfloat16 as NumPy's 2-byte void). Throws
/// std::runtime_error, which names the file and what is wrong.
Array read_npy(const std::string& path);

/// Writes to a temporary file beside `path` and renames it. Throws std::runtime_error.
void write_npy(const std::string& path, const Array& array);

/// Writes a file in the same way.
void write_file(const std::string& path, const void* data, size_t size);

}  // namespace arm_runtime
