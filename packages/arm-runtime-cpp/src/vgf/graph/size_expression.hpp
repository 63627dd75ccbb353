// A size that depends on symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {

/// factor * (the product of some symbols) + offset; without symbols, the offset alone.
struct SizeExpression {
    int64_t factor = 0;
    uint32_t symbols = 0;  ///< a bit for each
    int64_t offset = 0;

    bool varies() const { return symbols != 0; }
    int64_t at(const int64_t* values) const;
    /// "3", "batch", "8*batch*length+1"
    std::string text(const std::vector<Symbol>& names) const;
};

/// The only expression that has these numbers at these points, each a value of every symbol;
/// nothing if there is none, or several.
std::optional<SizeExpression> fit(const std::vector<std::vector<int64_t>>& points,
                                  const std::vector<int64_t>& numbers);

}  // namespace arm_runtime::vgf
