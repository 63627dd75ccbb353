#include "plan_text.hpp"

namespace arm_runtime::vgf {
namespace {

/// "dot; 20=0 21=4 ...": what the kernel was compiled with, and its constants.
std::string variant_of(const Dispatch& dispatch) {
    std::string out = dispatch.dot ? "dot;" : "";
    for (const auto& [id, value] : dispatch.specialization) {
        out += (out.empty() ? "" : " ") + std::to_string(id) + "=" + std::to_string(value);
    }
    return out;
}

}  // namespace

// Of numbers, and of texts that have no quotes or backslashes.
std::string json_of(const Plan& plan) {
    std::string out = "[";
    for (const Dispatch& dispatch : plan.dispatches) {
        uint64_t read = 0;
        uint64_t written = 0;
        for (const Slot& slot : dispatch.reads) read += slot.bytes;
        for (const Slot& slot : dispatch.writes) written += slot.bytes;
        out += out.size() > 1 ? ",\n" : "";
        out += R"({"kernel": ")" + std::string(dispatch.kernel) + R"(", "operators": ")" +
               dispatch.text + R"(", "shape": ")" + dispatch.shape + R"(", "read": )" +
               std::to_string(read) + R"(, "written": )" + std::to_string(written) +
               R"(, "macs": )" + std::to_string(dispatch.macs) + R"(, "groups": )" +
               std::to_string(uint64_t{dispatch.groups[0]} * dispatch.groups[1]) +
               R"(, "variant": ")" + variant_of(dispatch) + "\"}";
    }
    return out + "]";
}

}  // namespace arm_runtime::vgf
