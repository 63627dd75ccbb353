// An application's device.
#include "application.hpp"

#include <algorithm>
#include <cstring>

#include "matrix_units.hpp"
#include "vulkan_matrix.hpp"

namespace arm_vgf {

using namespace arm_runtime::vgf;

Requirements requirements(VkInstance instance, VkPhysicalDevice physical,
                          PFN_vkGetInstanceProcAddr get_proc_addr, uint32_t api_version) {
    if (instance == VK_NULL_HANDLE || physical == VK_NULL_HANDLE || get_proc_addr == nullptr) {
        throw Error("the instance, the physical device or the loader is null");
    }
    if (api_version == 0) throw Error(kNoVersion);
    return with_errors([&] {
        const Instance owner(get_proc_addr, instance, physical, api_version);
        const Instance::Candidate& device = owner.only();
        const uint32_t version = device.properties.apiVersion;
        Requirements found;
        const auto families = device.handle.getQueueFamilyProperties();
        for (uint32_t i = 0; i < families.size(); ++i) {
            if (families[i].queueFlags & vk::QueueFlagBits::eCompute) {
                found.queue_families.push_back(i);
            }
        }
        if (found.queue_families.empty()) {
            throw Error(std::string(device.properties.deviceName.data()) +
                        " has no queue that runs compute shaders");
        }
        // Structures that the device does not know are not chained.
        vk::PhysicalDeviceFeatures2 base;
        vk::PhysicalDeviceVulkan12Features v12;
        vk::PhysicalDeviceVulkan13Features v13;
        vk::PhysicalDeviceShaderIntegerDotProductFeatures dot;
        MatrixFeatures matrices;
        void** last = &base.pNext;
        const auto chain = [&](auto& structure) {
            *last = &structure;
            last = &structure.pNext;
        };
        if (version >= VK_API_VERSION_1_2) chain(v12);
        if (version >= VK_API_VERSION_1_3) chain(v13);
        if (version < VK_API_VERSION_1_3 &&
            device.has(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
            chain(dot);
        }
        if (device.has(kMatrixExtension)) chain(matrices);
        (*device.handle).getFeatures2(&base, *device.handle.getDispatcher());
        found.features = used_features(version, device.extensions, FeatureSet(&base));
        return found;
    });
}

std::vector<const char*> enable(const std::vector<Feature>& features, void* chain) {
    std::vector<const char*> extensions;
    for (const Feature& feature : features) {
        if (!set_feature(chain, feature) || *feature.extension == '\0') continue;
        const auto known = std::find_if(
            extensions.begin(), extensions.end(),
            [&](const char* extension) { return std::strcmp(extension, feature.extension) == 0; });
        if (known == extensions.end()) extensions.push_back(feature.extension);
    }
    return extensions;
}

Device Device::adopt(const Adopted& adopted) {
    return Device(with_errors([&] { return std::make_shared<Impl>(adopted); }));
}

const std::string& Device::name() const { return impl_->device.name(); }

std::string Device::description() const {
    const auto& device = impl_->device;
    const MatrixUnits& units = device.matrix_units();
    const bool matrices = units.int8 != 0 || units.fp16 != 0;
    return device.name() + ": " + (device.has_dot() ? "with" : "without") +
           " integer dot products, " + (matrices ? "with" : "without") + " matrix units";
}

}  // namespace arm_vgf
