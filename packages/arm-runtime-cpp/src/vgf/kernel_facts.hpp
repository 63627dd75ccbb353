// What was found out about kernels on one device and driver: which compute rightly, and which
// variants are fast. Kept in a file from one process to the next.
#pragma once

#include <map>
#include <string>

#include "cache_file.hpp"

namespace arm_runtime::vgf {

class KernelFacts {
  public:
    /// Starts with what an earlier process left in `file`.
    explicit KernelFacts(CacheFile file);

    struct Choice {
        size_t variant = 0;
        size_t tried = 1;  ///< variants that need no more measuring
    };
    Choice choice(const char* kernel, const std::string& key) const;
    void set_choice(const char* kernel, const std::string& key, const Choice& choice);

    enum class Test { kUnknown, kPassed, kFailed };
    /// `tested_type`: the type that it was tested for (see Dispatch::tested_type).
    Test test(const char* kernel, bool dot, const char* tested_type = "") const;
    void set_test(const char* kernel, bool dot, const char* tested_type, bool passed);

    /// "", or of kernels that failed their tests, a part of a sentence for a log.
    std::string note() const;

    /// Writes the file if something was found since; a failure to write is no error.
    void save();

  private:
    void read(const std::string& text);
    /// The kernel's name and what its code is: a fact is of the code that it was found with.
    std::string id_of(const char* kernel, bool dot, const char* tested_type = "") const;
    std::string id_of(const char* kernel, const std::string& key) const {
        return id_of(kernel, false) + "/" + key;
    }

    CacheFile file_;
    std::map<std::string, Choice> choices_;             ///< by kernel, its code and key
    std::map<std::string, bool> tests_;                 ///< by kernel and its code: passed
    mutable std::map<const uint32_t*, uint64_t> sums_;  ///< of kernels' code
    bool changed_ = false;
};

}  // namespace arm_runtime::vgf
