// Writes SPIR-V modules of graphs, word by word.
#pragma once

#include <cstring>
#include <initializer_list>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

namespace arm_runtime::vgf {

using Words = std::vector<uint32_t>;

inline Words joined(Words first, const Words& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

/// Words of a string literal: its bytes and zeros, one at least.
inline Words literal(const std::string& characters) {
    Words words(characters.size() / 4 + 1);
    std::memcpy(words.data(), characters.data(), characters.size());
    return words;
}

/// An instruction.
inline Words op(uint32_t code, Words operands = {}) {
    operands.insert(operands.begin(), static_cast<uint32_t>(operands.size() + 1) << 16 | code);
    return operands;
}

inline Words module(std::initializer_list<Words> instructions) {
    Words all = {spv::MagicNumber, 0x00010600, 0, 1000, 0};
    for (const Words& instruction : instructions) all = joined(std::move(all), instruction);
    return all;
}

}  // namespace arm_runtime::vgf
