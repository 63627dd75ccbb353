#include "instance.hpp"

#include <algorithm>
#include <cctype>

#include "layers.hpp"

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

int speed(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return 4;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return 3;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return 2;
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return 1;
        default:
            return 0;
    }
}

}  // namespace

bool Instance::Candidate::has(const char* extension) const {
    return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

Instance::Instance(bool emulated) {
    const Loader& loader = Loader::get();
    std::vector<const char*> layers;
    if (emulated) layers = emulation_layers(loader);
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "arm_runtime";
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    info.enabledLayerCount = static_cast<uint32_t>(layers.size());
    info.ppEnabledLayerNames = layers.data();
    handle_ = make_instance(loader, info);
    calls_ = InstanceCalls(loader, handle_.get());

    uint32_t count = 0;
    check(calls_.EnumeratePhysicalDevices(handle_.get(), &count, nullptr),
          "vkEnumeratePhysicalDevices");
    std::vector<VkPhysicalDevice> devices(count);
    check(calls_.EnumeratePhysicalDevices(handle_.get(), &count, devices.data()),
          "vkEnumeratePhysicalDevices");
    for (const VkPhysicalDevice device : devices) {
        Candidate candidate{device, {}, {}};
        VkPhysicalDeviceProperties2 properties{};
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        calls_.GetPhysicalDeviceProperties2(device, &properties);
        candidate.properties = properties.properties;
        uint32_t found = 0;
        check(calls_.EnumerateDeviceExtensionProperties(device, nullptr, &found, nullptr),
              "vkEnumerateDeviceExtensionProperties");
        std::vector<VkExtensionProperties> extensions(found);
        check(calls_.EnumerateDeviceExtensionProperties(device, nullptr, &found, extensions.data()),
              "vkEnumerateDeviceExtensionProperties");
        for (const auto& extension : extensions) {
            candidate.extensions.emplace_back(extension.extensionName);
        }
        candidates_.push_back(std::move(candidate));
    }
}

const Instance::Candidate* Instance::choose(const std::string& wanted, bool graphs) const {
    const Candidate* best = nullptr;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        const auto& properties = candidate.properties;
        if (!fits(wanted, i, properties.deviceName)) continue;
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
        text += (i ? ", " : "") + std::to_string(i) + ": " + candidates_[i].properties.deviceName;
    }
    return text.empty() ? "none" : text;
}

}  // namespace arm_runtime::vgf
