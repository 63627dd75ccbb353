// A file that is kept from one process to the next, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace arm_runtime::vgf {

/// FNV-1a, to tell a whole file from a cut or changed one.
uint64_t checksum(const char* data, size_t size);

class CacheFile {
  public:
    /// An empty path keeps nothing.
    explicit CacheFile(std::filesystem::path path) : path_(std::move(path)) {}

    /// What `write` was given last; empty if the file is missing, cut or foreign.
    std::vector<char> read() const;

    /// Writes a temporary file and renames it. False: it could not, and the old file stays.
    bool write(const std::vector<char>& data) const;

  private:
    std::filesystem::path path_;
};

}  // namespace arm_runtime::vgf
