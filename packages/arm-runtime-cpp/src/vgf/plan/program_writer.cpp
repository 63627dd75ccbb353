#include "program_writer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>

#include "../kernels/steps.h"
#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundAt = 3;

struct Instruction {
    const uint32_t* words;
    uint32_t length;
    uint32_t code;
};

struct Function {
    uint32_t id = 0;
    std::vector<Instruction> instructions;
    std::set<uint32_t> calls;
};

uint32_t first_word(uint32_t code, size_t length) {
    return static_cast<uint32_t>(length) << 16 | code;
}

bool is_debug(uint32_t code) {
    return code == spv::OpName || code == spv::OpMemberName || code == spv::OpSource ||
           code == spv::OpSourceExtension || code == spv::OpModuleProcessed ||
           code == spv::OpString || code == spv::OpLine || code == spv::OpNoLine;
}

/// A module of ours, taken apart: it came with the library, so that it need not be checked.
class Module {
  public:
    explicit Module(const KernelCode& kernel) : kernel_(kernel) {
        for (size_t at = kHeaderWords; at < kernel.count;) {
            const uint32_t* const words = kernel.words + at;
            const Instruction one{words, words[0] >> 16, words[0] & 0xffffU};
            at += one.length;
            take(one);
        }
    }

    std::vector<uint32_t> write(const ProgramBuilder& program) {
        if (program.steps().size() > MAX_STEPS) {
            throw Error("a fused program of " + std::to_string(program.steps().size()) +
                        " steps is longer than kernels take");
        }
        bound_ = kernel_.words[kBoundAt];
        Function& run = function("run");
        Function& prepare = function("prepare");
        const std::map<uint32_t, std::vector<uint32_t>> bodies{
            {run.id, body_of_run(run, program)}, {prepare.id, body_of_prepare(prepare, program)}};
        const std::set<uint32_t> kept = reachable();
        std::set<uint32_t> dropped;  // ids defined in functions that go
        for (const auto& [id, f] : functions_) {
            if (kept.count(id)) continue;
            for (const Instruction& one : f.instructions) {
                // Whatever has a result has it in one of the first two operands.
                dropped.insert(id);
                if (one.length > 2) dropped.insert(one.words[2]);
            }
        }
        std::vector<uint32_t> out(kernel_.words, kernel_.words + kHeaderWords);
        for (const Instruction& one : globals_) {
            if (is_debug(one.code)) continue;
            if (one.code == spv::OpDecorate && dropped.count(one.words[1]) &&
                !global_ids_.count(one.words[1])) {
                continue;
            }
            out.insert(out.end(), one.words, one.words + one.length);
        }
        out.insert(out.end(), constants_.begin(), constants_.end());
        for (const uint32_t id : order_) {
            if (!kept.count(id)) continue;
            if (const auto body = bodies.find(id); body != bodies.end()) {
                out.insert(out.end(), body->second.begin(), body->second.end());
                continue;
            }
            for (const Instruction& one : functions_.at(id).instructions) {
                if (!is_debug(one.code)) out.insert(out.end(), one.words, one.words + one.length);
            }
        }
        out[kBoundAt] = bound_;
        return out;
    }

  private:
    void take(const Instruction& one) {
        if (one.code == spv::OpFunction) {
            current_ = one.words[2];
            order_.push_back(current_);
            functions_[current_].id = current_;
        }
        if (current_ != 0) {
            Function& f = functions_[current_];
            f.instructions.push_back(one);
            if (one.code == spv::OpFunctionCall) f.calls.insert(one.words[3]);
            if (one.code == spv::OpFunctionEnd) current_ = 0;
            return;
        }
        globals_.push_back(one);
        if (one.code == spv::OpName) {
            const std::string name(reinterpret_cast<const char*>(one.words + 2));
            if (const size_t end = name.find('('); end != std::string::npos) {
                names_[name.substr(0, end)] = one.words[1];
            }
        } else if (one.code == spv::OpEntryPoint) {
            entry_ = one.words[2];
        } else if (one.code == spv::OpTypeFunction) {
            types_[one.words[1]] = one;
        }
        // Types and variables have their ids first or second: both are noted, which keeps at most
        // a decoration too many.
        if (one.code != spv::OpDecorate && one.code != spv::OpName && one.length > 2) {
            global_ids_.insert(one.words[1]);
            global_ids_.insert(one.words[2]);
        }
    }

    Function& function(const std::string& name) {
        const auto found = names_.find(name);
        if (found == names_.end()) {
            throw Error("the kernel '" + std::string(kernel_.name) + "' has no function " + name);
        }
        return functions_.at(found->second);
    }

    uint32_t constant(uint32_t type, uint32_t value) {
        const auto [known, fresh] = known_constants_.try_emplace({type, value}, bound_);
        if (fresh) {
            ++bound_;
            constants_.insert(constants_.end(),
                              {first_word(spv::OpConstant, 4), type, known->second, value});
        }
        return known->second;
    }

    /// What a function begins with: all before its return.
    static std::vector<uint32_t> head_of(const Function& f) {
        std::vector<uint32_t> out;
        for (const Instruction& one : f.instructions) {
            if (one.code == spv::OpReturn) break;
            if (!is_debug(one.code)) out.insert(out.end(), one.words, one.words + one.length);
        }
        return out;
    }

    std::vector<uint32_t> body_of_prepare(Function& prepare, const ProgramBuilder& program) {
        const Function& read = function("read_numbers");
        const uint32_t int_type = types_.at(read.instructions[0].words[4]).words[2];
        std::vector<uint32_t> out = head_of(prepare);
        prepare.calls.clear();
        for (size_t i = 0; i < program.steps().size(); ++i) {
            if (!has_numbers(program.steps()[i])) continue;
            out.insert(out.end(), {first_word(spv::OpFunctionCall, 5), int_type, bound_++, read.id,
                                   constant(int_type, static_cast<uint32_t>(i))});
            prepare.calls.insert(read.id);
        }
        out.push_back(first_word(spv::OpReturn, 1));
        out.push_back(first_word(spv::OpFunctionEnd, 1));
        return out;
    }

    std::vector<uint32_t> body_of_run(Function& run, const ProgramBuilder& program) {
        const Function& raw = function("step_raw");
        const uint32_t* const type = types_.at(raw.instructions[0].words[4]).words;
        const uint32_t vector = type[2];
        const uint32_t mode_type = type[3];
        const uint32_t int_type = type[8];
        const uint32_t none = bound_++;
        constants_.insert(constants_.end(), {first_word(spv::OpConstantNull, 3), vector, none});
        std::vector<uint32_t> out = head_of(run);
        run.calls.clear();
        const uint32_t element = run.instructions[1].words[2];  // its parameter
        const auto call = [&](const Function& callee, const std::vector<uint32_t>& arguments) {
            const uint32_t result = bound_++;
            out.insert(out.end(), {first_word(spv::OpFunctionCall, 4 + arguments.size()), vector,
                                   result, callee.id});
            out.insert(out.end(), arguments.begin(), arguments.end());
            run.calls.insert(callee.id);
            return result;
        };
        std::vector<uint32_t> values(static_cast<size_t>(program.values()), 0);
        const auto value = [&](int number) {
            if (number == kNoValue) return none;
            uint32_t& id = values[static_cast<size_t>(number)];
            if (id == 0) {  // what the kernel left
                id = call(function(number == 0 ? "step_raw" : "step_raw_high"),
                          {constant(mode_type, 0), none, none, none, none, element});
            }
            return id;
        };
        const Function& numbers = function("numbers");
        for (size_t i = 0; i < program.steps().size(); ++i) {
            const Step& step = program.steps()[i];
            const uint32_t given =
                has_numbers(step) ? call(numbers, {constant(int_type, static_cast<uint32_t>(i))})
                                  : none;
            const uint32_t a = value(step.operands[0]);
            const uint32_t b = value(step.operands[1]);
            const uint32_t c = value(step.operands[2]);
            values[static_cast<size_t>(step.result)] =
                call(function(std::string("step_") + step.name),
                     {constant(mode_type, step.mode), given, a, b, c, element});
        }
        out.push_back(first_word(spv::OpReturn, 1));
        out.push_back(first_word(spv::OpFunctionEnd, 1));
        return out;
    }

    std::set<uint32_t> reachable() const {
        std::set<uint32_t> kept;
        std::vector<uint32_t> open{entry_};
        while (!open.empty()) {
            const uint32_t id = open.back();
            open.pop_back();
            if (!kept.insert(id).second) continue;
            for (const uint32_t callee : functions_.at(id).calls) open.push_back(callee);
        }
        return kept;
    }

    const KernelCode& kernel_;
    std::vector<Instruction> globals_;
    std::map<uint32_t, Function> functions_;
    std::vector<uint32_t> order_;  ///< of functions
    std::map<std::string, uint32_t> names_;
    std::map<uint32_t, Instruction> types_;  ///< of functions
    std::set<uint32_t> global_ids_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> known_constants_;
    std::vector<uint32_t> constants_;
    uint32_t entry_ = 0;
    uint32_t current_ = 0;
    uint32_t bound_ = 0;
};

}  // namespace

std::vector<uint32_t> write_program(const KernelCode& kernel, const ProgramBuilder& program) {
    return Module(kernel).write(program);
}

}  // namespace arm_runtime::vgf
