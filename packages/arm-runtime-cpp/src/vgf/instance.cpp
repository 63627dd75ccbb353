#include "instance.hpp"

#include <algorithm>
#include <cctype>

#include "layers.hpp"
#include "vulkan_arm.hpp"

namespace arm_runtime::vgf {
namespace {

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// Whether a device is the one that a user named; by its number only if the name is all digits.
bool fits(const std::string& wanted, size_t number, const char* name) {
    if (wanted.empty()) return true;
    const bool digits = std::all_of(wanted.begin(), wanted.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits && wanted == std::to_string(number)) return true;
    return !digits && lower(name).find(lower(wanted)) != std::string::npos;
}

int speed(vk::PhysicalDeviceType type) {
    switch (type) {
        case vk::PhysicalDeviceType::eDiscreteGpu:
            return 4;
        case vk::PhysicalDeviceType::eIntegratedGpu:
            return 3;
        case vk::PhysicalDeviceType::eVirtualGpu:
            return 2;
        case vk::PhysicalDeviceType::eCpu:
            return 1;
        default:
            return 0;
    }
}

vk::raii::Instance make_instance(bool emulated) {
    const vk::raii::Context& context = vulkan();
    std::vector<const char*> layers;
    if (emulated) layers = emulation_layers();
    const auto application =
        vk::ApplicationInfo().setPApplicationName("arm_runtime").setApiVersion(VK_API_VERSION_1_3);
    const auto info =
        vk::InstanceCreateInfo().setPApplicationInfo(&application).setPEnabledLayerNames(layers);
    try {
        return {context, info};
    } catch (const vk::IncompatibleDriverError&) {
        throw Error(
            "no Vulkan driver on this machine: install your GPU's, or Mesa's, which runs on the "
            "CPU (on Debian and Ubuntu `apt-get install mesa-vulkan-drivers`)");
    }
}

}  // namespace

bool Instance::Candidate::has(const char* extension) const {
    return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

Instance::Instance(bool emulated) : handle_(make_instance(emulated)) {
    for (vk::raii::PhysicalDevice& device : vk::raii::PhysicalDevices(handle_)) {
        const vk::PhysicalDeviceProperties properties = device.getProperties();
        std::vector<std::string> extensions;
        for (const auto& extension : device.enumerateDeviceExtensionProperties()) {
            extensions.emplace_back(extension.extensionName.data());
        }
        candidates_.push_back({std::move(device), properties, std::move(extensions)});
    }
}

Instance::Instance(PFN_vkGetInstanceProcAddr get_proc_addr, VkInstance instance,
                   VkPhysicalDevice physical, uint32_t api_version)
    : handle_(vk::raii::Context(get_proc_addr), instance) {
    keep(handle_);
    const auto* const functions = handle_.getDispatcher();
    if (functions->vkGetPhysicalDeviceProperties == nullptr ||
        functions->vkGetPhysicalDeviceFeatures2 == nullptr) {
        throw Error(
            "get_proc_addr has no functions of Vulkan 1.1 for the instance: it must be of the "
            "loader that made the instance, with 1.1 or newer in VkApplicationInfo::apiVersion");
    }
    vk::raii::PhysicalDevice device(handle_, physical);
    vk::PhysicalDeviceProperties properties = device.getProperties();
    properties.apiVersion = std::min(properties.apiVersion, api_version);
    if (properties.apiVersion < VK_API_VERSION_1_1) {
        throw Error(std::string(properties.deviceName.data()) +
                    " is used as a device of Vulkan 1.0: programs need 1.1, of the device and in "
                    "VkApplicationInfo::apiVersion");
    }
    std::vector<std::string> extensions;
    for (const auto& extension : device.enumerateDeviceExtensionProperties()) {
        extensions.emplace_back(extension.extensionName.data());
    }
    candidates_.push_back({std::move(device), properties, std::move(extensions)});
}

const Instance::Candidate* Instance::choose(const std::string& wanted, bool graphs) const {
    const Candidate* best = nullptr;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        const auto& properties = candidate.properties;
        if (!fits(wanted, i, properties.deviceName.data())) continue;
        const bool runs_graphs = candidate.has(kTensorsExtension) &&
                                 candidate.has(kDataGraphExtension) &&
                                 properties.apiVersion >= VK_API_VERSION_1_3;
        if (graphs && !runs_graphs) continue;
        if (properties.apiVersion < VK_API_VERSION_1_1) continue;
        if (!best || speed(properties.deviceType) > speed(best->properties.deviceType)) {
            best = &candidate;
        }
    }
    return best;
}

std::string Instance::list() const {
    std::string text;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        text += (i ? ", " : "") + std::to_string(i) + ": " +
                candidates_[i].properties.deviceName.data();
    }
    return text.empty() ? "none" : text;
}

}  // namespace arm_runtime::vgf
