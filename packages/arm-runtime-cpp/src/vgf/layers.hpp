// Arm's emulation layer for VK_ARM_tensors and VK_ARM_data_graph, as its pip package installs it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace arm_runtime::vgf {

constexpr const char* kGraphLayer = "VK_LAYER_ML_Graph_Emulation";
constexpr const char* kTensorLayer = "VK_LAYER_ML_Tensor_Emulation";

/// The folder `deploy` of the emulation layer. Looks at `ARM_VGF_LAYERS`, then in the folders above
/// the libraries of this process, then in `VIRTUAL_ENV`.
std::optional<std::filesystem::path> find_emulation_layer();

/// While it lives, the Vulkan loader finds the layers, and in the order that they need: the graph
/// layer above the tensor layer. Old loaders order layers by the folders
/// of their manifests, so each layer gets a folder of its own, in a temporary one that goes away
/// with this object.
///
/// It sets VK_LAYER_PATH meanwhile: no other thread may change the environment.
class LayerPath {
  public:
    /// Throws Error: a manifest cannot be read or written.
    explicit LayerPath(const std::filesystem::path& deploy);
    ~LayerPath();
    LayerPath(const LayerPath&) = delete;
    LayerPath& operator=(const LayerPath&) = delete;

    /// From the application to the driver.
    const std::vector<const char*>& names() const { return names_; }

  private:
    void add(const char* name, const std::string& manifest);

    std::filesystem::path folder_;
    std::vector<const char*> names_;
    std::optional<std::string> before_;
};

}  // namespace arm_runtime::vgf
