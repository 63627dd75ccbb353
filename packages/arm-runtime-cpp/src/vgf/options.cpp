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

const char* name_of(EngineKind engine) {
    static constexpr const char* kNames[] = {"any", "native", "compute", "layer"};
    return kNames[static_cast<size_t>(engine)];
}

EngineKind engine_named(const std::string& name) {
    for (const EngineKind kind :
         {EngineKind::kAny, EngineKind::kNative, EngineKind::kCompute, EngineKind::kLayer}) {
        if (name == name_of(kind)) return kind;
    }
    throw Error("there is no VGF engine '" + name +
                "': it is native, compute or layer; leave it out for the best of this machine");
}

Tuning tuning_named(const std::string& name) {
    if (name == "on" || name == "1") return Tuning::kOn;
    if (name == "off" || name == "0") return Tuning::kOff;
    if (name == "always") return Tuning::kAlways;
    throw Error("there is no VGF tuning '" + name + "': it is on, off or always");
}

Counting counting_named(const std::string& name) {
    if (name == "off") return Counting::kOff;
    if (name == "0") return Counting::kMode0;
    if (name == "1") return Counting::kMode1;
    throw Error("there are no VGF statistics '" + name + "': they are off, 0 or 1");
}

Options options_from_environment() {
    Options options;
    options.device = variable("ARM_VGF_DEVICE");
    if (const std::string engine = variable("ARM_VGF_ENGINE"); !engine.empty()) {
        options.engine = engine_named(engine);
    }
    if (const std::string tuning = variable("ARM_VGF_TUNE"); !tuning.empty()) {
        options.tuning = tuning_named(tuning);
    }
    if (std::getenv("ARM_VGF_CACHE")) {
        options.cache_folder = variable("ARM_VGF_CACHE");
    } else if (const std::string cache = variable("XDG_CACHE_HOME"); cache[0] == '/') {
        options.cache_folder = cache + "/arm_runtime";
    } else if (const std::string home = variable("HOME"); !home.empty()) {
        options.cache_folder = home + "/.cache/arm_runtime";
    }
    return options;
}

}  // namespace arm_runtime::vgf
