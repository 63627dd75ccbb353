#include "enabled_features.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "vulkan_matrix.hpp"

namespace arm_runtime::vgf {
namespace {

using arm_vgf::Feature;
using arm_vgf::Need;

constexpr VkStructureType kMatrixStructure = static_cast<VkStructureType>(1000506000);
constexpr const char* kNone = "";
constexpr const char* kDot = "products of int8";
constexpr const char* kMatrix = "convolutions and linear layers on matrix units";
constexpr const char* kShaders = "compute shaders in a VGF";

struct Row {
    uint32_t version;  ///< of a device that has the structure without an extension; 0: none
    Feature feature;
};

#define BASE(need, member, purpose)                                      \
    Row {                                                                \
        VK_API_VERSION_1_1, {                                            \
            need, #member, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, \
                offsetof(VkPhysicalDeviceFeatures2, features) +          \
                    offsetof(VkPhysicalDeviceFeatures, member),          \
                kNone, purpose                                           \
        }                                                                \
    }
#define OF_VERSION(need, version, structure, type, member, purpose)                   \
    Row {                                                                             \
        version, { need, #member, type, offsetof(structure, member), kNone, purpose } \
    }
#define OF_1_1(member)                                                           \
    OF_VERSION(Need::kMay, VK_API_VERSION_1_2, VkPhysicalDeviceVulkan11Features, \
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, member, kShaders)
#define OF_1_2(need, member, purpose)                                      \
    OF_VERSION(need, VK_API_VERSION_1_2, VkPhysicalDeviceVulkan12Features, \
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, member, purpose)
#define OF_1_3(member, purpose)                                                     \
    OF_VERSION(Need::kShould, VK_API_VERSION_1_3, VkPhysicalDeviceVulkan13Features, \
               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, member, purpose)
#define OF_EXTENSION(extension, structure, type, member, purpose)                            \
    Row {                                                                                    \
        0, { Need::kShould, #member, type, offsetof(structure, member), extension, purpose } \
    }

// Of several rows for one feature the first that the device has counts: a version's before an
// extension's, and that of matrix units, where there are any, before that of compute shaders.
constexpr Row kRows[] = {
    BASE(Need::kShould, robustBufferAccess, "files from strangers, which may have compute shaders"),
    OF_1_3(shaderIntegerDotProduct, kDot),
    OF_EXTENSION(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME,
                 VkPhysicalDeviceShaderIntegerDotProductFeatures,
                 VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
                 shaderIntegerDotProduct, kDot),
    Row{0,
        {Need::kShould, "cooperativeMatrix", kMatrixStructure, sizeof(VkBaseInStructure),
         kMatrixExtension, kMatrix}},
    OF_1_3(computeFullSubgroups, kMatrix),
    OF_1_2(Need::kShould, vulkanMemoryModel, kMatrix),
    OF_1_2(Need::kShould, shaderInt8, kMatrix),
    OF_1_2(Need::kShould, shaderFloat16, kMatrix),
    BASE(Need::kMay, shaderInt16, kShaders),
    BASE(Need::kMay, shaderInt64, kShaders),
    BASE(Need::kMay, shaderFloat64, kShaders),
    BASE(Need::kMay, shaderImageGatherExtended, kShaders),
    BASE(Need::kMay, shaderStorageImageExtendedFormats, kShaders),
    BASE(Need::kMay, shaderStorageImageReadWithoutFormat, kShaders),
    BASE(Need::kMay, shaderStorageImageWriteWithoutFormat,
         "outputs in images of more formats, and compute shaders in a VGF"),
    OF_1_1(storageBuffer16BitAccess),
    OF_1_1(uniformAndStorageBuffer16BitAccess),
    OF_1_1(storagePushConstant16),
    OF_1_2(Need::kMay, storageBuffer8BitAccess, kShaders),
    OF_1_2(Need::kMay, uniformAndStorageBuffer8BitAccess, kShaders),
    OF_1_2(Need::kMay, storagePushConstant8, kShaders),
    OF_1_2(Need::kMay, shaderInt8, kShaders),
    OF_1_2(Need::kMay, shaderFloat16, kShaders),
    OF_1_2(Need::kMay, vulkanMemoryModel, kShaders),
};

#undef BASE
#undef OF_1_1
#undef OF_1_2
#undef OF_1_3
#undef OF_VERSION
#undef OF_EXTENSION

// Structures of extensions that became a version's: their members are where ours look for them.
struct Alias {
    VkStructureType type;
    const char* name;
    size_t offset;
};
constexpr Alias kAliases[] = {
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, "computeFullSubgroups",
     offsetof(VkPhysicalDeviceSubgroupSizeControlFeatures, computeFullSubgroups)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES, "vulkanMemoryModel",
     offsetof(VkPhysicalDeviceVulkanMemoryModelFeatures, vulkanMemoryModel)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, "shaderInt8",
     offsetof(VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, "shaderFloat16",
     offsetof(VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, "storageBuffer16BitAccess",
     offsetof(VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, "uniformAndStorageBuffer16BitAccess",
     offsetof(VkPhysicalDevice16BitStorageFeatures, uniformAndStorageBuffer16BitAccess)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, "storagePushConstant16",
     offsetof(VkPhysicalDevice16BitStorageFeatures, storagePushConstant16)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, "storageBuffer8BitAccess",
     offsetof(VkPhysicalDevice8BitStorageFeatures, storageBuffer8BitAccess)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, "uniformAndStorageBuffer8BitAccess",
     offsetof(VkPhysicalDevice8BitStorageFeatures, uniformAndStorageBuffer8BitAccess)},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, "storagePushConstant8",
     offsetof(VkPhysicalDevice8BitStorageFeatures, storagePushConstant8)},
};

bool is_set(const void* structure, size_t offset) {
    VkBool32 value = VK_FALSE;
    std::memcpy(&value, static_cast<const char*>(structure) + offset, sizeof(value));
    return value == VK_TRUE;
}

}  // namespace

FeatureSet::FeatureSet(const void* chain, const VkPhysicalDeviceFeatures* base) {
    if (base != nullptr) {
        VkPhysicalDeviceFeatures2 given{};
        given.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
        given.features = *base;
        add(reinterpret_cast<const VkBaseInStructure*>(&given));
    }
    for (const auto* at = static_cast<const VkBaseInStructure*>(chain); at; at = at->pNext) add(at);
}

void FeatureSet::add(const VkBaseInStructure* structure) {
    const VkStructureType type = structure->sType;
    for (const auto& [since, feature] : kRows) {
        if (feature.structure == type && is_set(structure, feature.offset)) {
            names_.emplace_back(feature.name);
        }
    }
    for (const Alias& alias : kAliases) {
        if (alias.type == type && is_set(structure, alias.offset)) names_.emplace_back(alias.name);
    }
}

bool set_feature(void* chain, const Feature& feature) {
    const VkBool32 on = VK_TRUE;
    bool found = false;
    for (auto* at = static_cast<VkBaseOutStructure*>(chain); at != nullptr; at = at->pNext) {
        const auto set = [&, at](VkStructureType type, size_t offset) {
            if (at->sType != type) return;
            std::memcpy(reinterpret_cast<char*>(at) + offset, &on, sizeof(on));
            found = true;
        };
        for (const auto& [since, row] : kRows) {
            if (std::strcmp(row.name, feature.name) == 0) set(row.structure, row.offset);
        }
        for (const Alias& alias : kAliases) {
            if (std::strcmp(alias.name, feature.name) == 0) set(alias.type, alias.offset);
        }
    }
    return found;
}

bool FeatureSet::has(const char* name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::vector<Feature> used_features(uint32_t version, const std::vector<std::string>& extensions,
                                   const FeatureSet& features) {
    std::vector<Feature> used;
    const auto known = [&](const char* name) {
        return std::any_of(used.begin(), used.end(), [&](const Feature& feature) {
            return std::strcmp(feature.name, name) == 0;
        });
    };
    const auto given = [&](const char* name) {
        return std::find(extensions.begin(), extensions.end(), name) != extensions.end();
    };
    const bool matrices = version >= VK_API_VERSION_1_3 && given(kMatrixExtension) &&
                          features.has("cooperativeMatrix");
    for (const auto& [since, feature] : kRows) {
        const bool there = (since != 0 && version >= since) || given(feature.extension);
        if (!there || !features.has(feature.name) || known(feature.name)) continue;
        if (feature.purpose != kMatrix || matrices) used.push_back(feature);
    }
    return used;
}

}  // namespace arm_runtime::vgf
