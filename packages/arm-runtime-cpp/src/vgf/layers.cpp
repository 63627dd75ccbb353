#include "layers.hpp"

#include <link.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "arm_runtime/vgf.hpp"

namespace arm_runtime::vgf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "VK_LAYER_PATH";
constexpr const char* kPackage = "emulation_layer/deploy";

bool has_layers(const fs::path& deploy) {
    std::error_code ignored;
    return fs::exists(deploy / "lib/libVkLayer_Graph.so", ignored) &&
           fs::exists(deploy / "lib/libVkLayer_Tensor.so", ignored);
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

std::string quoted(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return '"' + out + '"';
}

/// The package's manifest, with the library's absolute path, which a loader finds from anywhere.
std::string package_manifest(const fs::path& deploy, const std::string& layer) {
    const fs::path source = deploy / "share/vulkan/explicit_layer.d" / (layer + ".json");
    std::ifstream file(source);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t key = text.find("\"library_path\"");
    const size_t colon = text.find(':', key);
    const size_t begin = text.find('"', colon);
    const size_t end = text.find('"', begin + 1);
    if (!file || key == std::string::npos || end == std::string::npos) {
        throw Error(source.string() +
                    " is no layer manifest; reinstall ai-ml-emulation-layer-for-vulkan");
    }
    const fs::path library = fs::absolute(deploy / "lib" / ("lib" + layer + ".so"));
    return text.replace(begin, end + 1 - begin, quoted(library.string()));
}

}  // namespace

std::optional<fs::path> find_emulation_layer() {
    if (const char* const folder = std::getenv("ARM_VGF_LAYERS")) {
        if (has_layers(folder)) return folder;
        throw Error(std::string("ARM_VGF_LAYERS is ") + folder +
                    ", which does not hold lib/libVkLayer_Graph.so and lib/libVkLayer_Tensor.so");
    }
    for (const auto& folders : {folders_of_process(), folders_of_virtual_env()}) {
        for (const fs::path& folder : folders) {
            if (has_layers(folder / kPackage)) return folder / kPackage;
        }
    }
    return std::nullopt;
}

LayerPath::LayerPath(const fs::path& deploy) {
    std::error_code missing;
    const fs::path temporary = fs::temp_directory_path(missing);
    std::string pattern = (temporary / "arm_vgf_layers_XXXXXX").string();
    if (missing || mkdtemp(pattern.data()) == nullptr) {
        throw Error(
            "cannot make a temporary folder for layer manifests; TMPDIR must name one "
            "that can be written to");
    }
    folder_ = pattern;
    try {
        add(kGraphLayer, package_manifest(deploy, "VkLayer_Graph"));
        add(kTensorLayer, package_manifest(deploy, "VkLayer_Tensor"));
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
        throw;
    }
    std::string path;
    for (const char* const name : names_)
        path += (path.empty() ? "" : ":") + (folder_ / name).string();
    if (const char* const before = std::getenv(kVariable)) {
        before_ = before;
        path += ":" + *before_;
    }
    setenv(kVariable, path.c_str(), 1);
}

void LayerPath::add(const char* name, const std::string& manifest) {
    const fs::path folder = folder_ / name;
    fs::create_directory(folder);
    std::ofstream out(folder / "layer.json");
    out << manifest;
    out.close();
    if (!out) throw Error("cannot write a layer manifest to " + folder.string());
    names_.push_back(name);
}

LayerPath::~LayerPath() {
    if (before_) {
        setenv(kVariable, before_->c_str(), 1);
    } else {
        unsetenv(kVariable);
    }
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

}  // namespace arm_runtime::vgf
