#include "program_builder.hpp"

#include "../kernels/steps.h"

namespace arm_runtime::vgf {
namespace {

/// A value of int48 has its high words in the value after it.
bool is_pair(const Step& step) { return step.code == STEP_LOAD && (step.mode & 7U) == TYPE_INT48; }

}  // namespace

int ProgramBuilder::add(Step step) {
    if (step.code != STEP_STORE) {
        step.result = values_;
        values_ += is_pair(step) ? 2 : 1;
    }
    steps_.push_back(step);
    return step.result;
}

std::optional<std::vector<uint32_t>> ProgramBuilder::encode() const {
    std::vector<int> last_use(static_cast<size_t>(values_), -1);
    for (size_t i = 0; i < steps_.size(); ++i) {
        for (const int value : steps_[i].operands) {
            if (value != kNoValue) last_use[static_cast<size_t>(value)] = static_cast<int>(i);
        }
    }
    std::array<int, ARM_VGF_REGISTERS> owner{};  // the value in each register
    owner.fill(kNoValue);
    owner[0] = 0;
    owner[1] = 1;
    std::vector<uint32_t> registers(static_cast<size_t>(values_), 0);
    registers[1] = 1;
    std::vector<uint32_t> words;
    words.reserve(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        uint32_t word = step.code | step.mode << 24;
        for (uint32_t k = 0; k < 3; ++k) {
            if (step.operands[k] == kNoValue) continue;
            word |= registers[static_cast<size_t>(step.operands[k])] << (12 + 4 * k);
        }
        if (step.result != kNoValue) {
            // A register whose value nothing reads from this step on; a pair takes two neighbours.
            const auto is_free = [&](uint32_t at) {
                return at < owner.size() &&
                       (owner[at] == kNoValue ||
                        last_use[static_cast<size_t>(owner[at])] <= static_cast<int>(i));
            };
            uint32_t at = 0;
            while (at < owner.size() && !(is_free(at) && (!is_pair(step) || is_free(at + 1)))) ++at;
            if (at == owner.size()) return std::nullopt;
            owner[at] = step.result;
            registers[static_cast<size_t>(step.result)] = at;
            if (is_pair(step)) {
                owner[at + 1] = step.result + 1;
                registers[static_cast<size_t>(step.result) + 1] = at + 1;
            }
            word |= at << 8;
        }
        words.push_back(word);
    }
    return words;
}

}  // namespace arm_runtime::vgf
