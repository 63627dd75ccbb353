#include <cstdlib>
#include <string>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

Options options_from_environment() {
    Options options;
    options.device = variable("ARM_VGF_DEVICE");
    if (std::getenv("ARM_VGF_CACHE")) {
        options.cache_folder = variable("ARM_VGF_CACHE");
    } else if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
        options.cache_folder = cache + "/arm_runtime";
    } else if (const std::string home = variable("HOME"); !home.empty()) {
        options.cache_folder = home + "/.cache/arm_runtime";
    }
    return options;
}

}  // namespace arm_runtime::vgf
