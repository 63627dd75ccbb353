// Shaders as Arm's tensor layer translates them, kept from one process to the next.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cache_file.hpp"

namespace arm_runtime::vgf {

/// What tells a shader's code from another's: two sums of its words.
using ShaderKey = std::pair<uint64_t, uint64_t>;
ShaderKey key_of(const uint32_t* code, size_t words);

/// From SPIR-V with tensors to SPIR-V without. The layer gets there by way of GLSL and a compiler,
/// which takes a tenth of a second for each shader. Not for several threads at once.
class ShaderStore {
  public:
    /// Starts with what an earlier process left in `file`, for the same layer.
    explicit ShaderStore(CacheFile file);

    /// Nullptr: not there.
    const std::vector<uint32_t>* find(const ShaderKey& key) const;
    void add(const ShaderKey& key, std::vector<uint32_t> translated);

    /// Writes the file if shaders were added since; a failure to write is no error.
    void save();

  private:
    CacheFile file_;
    std::map<ShaderKey, std::vector<uint32_t>> shaders_;
    bool changed_ = false;
};

}  // namespace arm_runtime::vgf
