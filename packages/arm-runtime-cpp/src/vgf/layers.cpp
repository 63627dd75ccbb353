#include "layers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "vulkan_api.hpp"

namespace arm_runtime::vgf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"VK_LAYER_ML_Graph_Emulation", "VK_LAYER_ML_Tensor_Emulation"};
constexpr const char* kLibraries[] = {"libVkLayer_Graph.so", "libVkLayer_Tensor.so"};
/// In the pip package, the folder of the layers' manifests; the libraries lie in `../../../lib`.
constexpr const char* kManifests = "emulation_layer/deploy/share/vulkan/explicit_layer.d";

/// The manifests name libraries without a folder. The dynamic linker then takes one of that name
/// that is loaded already.
void load_libraries() {
    for (const char* const variable : {"VK_LAYER_PATH", "VK_ADD_LAYER_PATH"}) {
        const char* const value = std::getenv(variable);
        std::istringstream folders(value ? value : "");
        for (std::string folder; std::getline(folders, folder, ':');) {
            for (const char* const library : kLibraries) {
                const fs::path path = fs::path(folder) / "../../../lib" / library;
                dlopen(path.c_str(),
                       RTLD_NOW | RTLD_LOCAL);  // the Vulkan loader says if it lacks it
            }
        }
    }
}

bool has_layers() {
    const auto found = vulkan().enumerateInstanceLayerProperties();
    return std::all_of(std::begin(kNames), std::end(kNames), [&](const char* name) {
        return std::any_of(found.begin(), found.end(), [&](const vk::LayerProperties& layer) {
            return std::strcmp(layer.layerName, name) == 0;
        });
    });
}

/// The folders above every library that this process has loaded: one of them is the site-packages
/// of the Python environment that the process runs in, whatever that is called.
std::set<fs::path> folders_of_process() {
    std::set<fs::path> found;
    const auto visit = [](dl_phdr_info* info, size_t, void* out) {
        auto& folders = *static_cast<std::set<fs::path>*>(out);
        fs::path folder = fs::path(info->dlpi_name).lexically_normal().parent_path();
        while (folder.has_relative_path() && folders.insert(folder).second) {
            folder = folder.parent_path();
        }
        return 0;
    };
    dl_iterate_phdr(visit, &found);
    return found;
}

std::set<fs::path> folders_of_virtual_env() {
    std::set<fs::path> found;
    const char* const home = std::getenv("VIRTUAL_ENV");
    if (home == nullptr) return found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(home) / "lib", ignored)) {
        found.insert(entry.path() / "site-packages");
    }
    return found;
}

std::optional<fs::path> find_package() {
    std::error_code ignored;
    for (const auto& folders : {folders_of_process(), folders_of_virtual_env()}) {
        for (const fs::path& folder : folders) {
            if (fs::exists(folder / kManifests, ignored)) return folder / kManifests;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<const char*> emulation_layers() {
    load_libraries();
    if (has_layers()) return {std::begin(kNames), std::end(kNames)};
    if (const auto manifests = find_package()) {
        throw Error(
            "the Vulkan loader does not know Arm's emulation layer, which the engine `layer` "
            "needs: set VK_LAYER_PATH=" +
            manifests->string());
    }
    throw Error(
        "Arm's emulation layer, which the engine `layer` needs, is not installed: `pip install "
        "ai-ml-emulation-layer-for-vulkan`, or set VK_LAYER_PATH to the folder of its manifests");
}

}  // namespace arm_runtime::vgf
