// Instructions of a SPIR-V module, and their names for errors.
#define SPV_ENABLE_UTILITY_CODE  // spv::OpToString

#include <spirv/unified1/spirv.hpp>

#include "declarations.hpp"

namespace arm_runtime::vgf {

std::string Instruction::name() const {
    const std::string name = spv::OpToString(static_cast<spv::Op>(opcode()));
    return name == "Unknown" ? "SPIR-V instruction " + std::to_string(opcode()) : name;
}

uint32_t Instruction::operator[](size_t index) const {
    if (index >= count_) {
        throw Error(name() + " has " + std::to_string(count_) + " words, too few");
    }
    return words_[index];
}

std::vector<uint32_t> Instruction::from(size_t index) const {
    if (index >= count_) return {};
    return {words_ + index, words_ + count_};
}

std::pair<std::string, size_t> Instruction::literal(size_t index) const {
    std::string text;
    for (size_t at = index; at < count_; ++at) {
        for (uint32_t shift = 0; shift < 32; shift += 8) {
            const auto character = static_cast<char>(words_[at] >> shift & 0xff);
            if (character == '\0') return {text, at + 1};
            text += character;
        }
    }
    throw Error(name() + " has a name without an end");
}

void Instruction::check_count(size_t count) const {
    if (count_ != count) {
        throw Error(name() + " has " + std::to_string(count_) + " words instead of " +
                    std::to_string(count));
    }
}

}  // namespace arm_runtime::vgf
