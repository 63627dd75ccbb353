#include "kernel_facts.hpp"

#include <sstream>
#include <vector>

#include "plan/kernel.hpp"

namespace arm_runtime::vgf {
namespace {

constexpr const char* kHeader = "kernel facts 1";

}  // namespace

KernelFacts::KernelFacts(CacheFile file) : file_(std::move(file)) {
    const std::vector<char> data = file_.read();
    read({data.begin(), data.end()});
}

/// Lines "choice VARIANT TRIED ID" and "test PASSED ID"; with anything else in it, nothing is read.
void KernelFacts::read(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    if (!std::getline(lines, line) || line != kHeader) return;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string kind;
        std::string id;
        words >> kind;
        if (kind == "choice") {
            Choice choice;
            words >> choice.variant >> choice.tried >> id;
            choices_[id] = choice;
        } else if (kind == "test") {
            bool passed = false;
            words >> passed >> id;
            tests_[id] = passed;
        }
        if (!words || id.empty()) {
            choices_.clear();
            tests_.clear();
            return;
        }
    }
}

std::string KernelFacts::id_of(const char* kernel, bool dot, const char* tested_type) const {
    const KernelCode& code = find_kernel(kernel, dot);
    const auto [sum, fresh] = sums_.try_emplace(code.words, 0);
    if (fresh) {
        const char* const bytes = reinterpret_cast<const char*>(code.words);
        sum->second = checksum(bytes, code.count * sizeof(uint32_t));
    }
    return label_of(kernel, dot, tested_type) + "/" + std::to_string(sum->second);
}

KernelFacts::Choice KernelFacts::choice(const char* kernel, const std::string& key) const {
    const auto found = choices_.find(id_of(kernel, key));
    return found == choices_.end() ? Choice{} : found->second;
}

void KernelFacts::set_choice(const char* kernel, const std::string& key, const Choice& choice) {
    choices_[id_of(kernel, key)] = choice;
    changed_ = true;
}

KernelFacts::Test KernelFacts::test(const char* kernel, bool dot, const char* tested_type) const {
    const auto found = tests_.find(id_of(kernel, dot, tested_type));
    if (found == tests_.end()) return Test::kUnknown;
    return found->second ? Test::kPassed : Test::kFailed;
}

void KernelFacts::set_test(const char* kernel, bool dot, const char* tested_type, bool passed) {
    tests_[id_of(kernel, dot, tested_type)] = passed;
    changed_ = true;
}

std::string KernelFacts::note() const {
    std::string names;
    for (const auto& [id, passed] : tests_) {
        if (!passed) names += (names.empty() ? "" : ", ") + id.substr(0, id.find('/'));
    }
    return names.empty() ? "" : "; without " + names + ", which this driver computes wrongly";
}

void KernelFacts::save() {
    if (!changed_) return;
    std::ostringstream out;
    out << kHeader << '\n';
    for (const auto& [id, choice] : choices_) {
        out << "choice " << choice.variant << ' ' << choice.tried << ' ' << id << '\n';
    }
    for (const auto& [id, passed] : tests_) out << "test " << passed << ' ' << id << '\n';
    const std::string text = out.str();
    if (file_.write({text.begin(), text.end()})) changed_ = false;
}

}  // namespace arm_runtime::vgf
