#include "counting_device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../../src/vgf/vulkan_arm.hpp"

using namespace arm_runtime::vgf;

namespace {

constexpr uint64_t kBytes = 64;  // of what is counted, for each of two objects

struct Counted {
    VkDeviceMemory memory;
    VkDeviceSize offset;
    uint32_t object;
};

struct State {
    PFN_vkVoidFunction (*find_real)(const char*) = nullptr;
    std::map<GraphSessionHandle, uint32_t> modes;
    std::map<VkDeviceMemory, uint8_t*> mapped;
    std::vector<Counted> counted;
    uint32_t runs = 0;
};

State& state() {
    static State one;
    return one;
}

void say(const std::string& event) { std::fprintf(stderr, "watched: %s\n", event.c_str()); }

template <typename Function>
Function core(const char* name) {
    const auto find = state().find_real;
    if (find == nullptr) std::abort();
    return reinterpret_cast<Function>(find(name));
}

template <typename Function>
Function of_device(VkDevice device, const char* name) {
    return reinterpret_cast<Function>(
        core<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")(device, name));
}

/// Takes a structure out of a chain while a call lasts; the chain is the caller's.
template <typename Structure>
class Unlinked {
  public:
    explicit Unlinked(const void* head) {
        const auto type = Structure().sType;
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it is as before afterwards
        auto* one = const_cast<VkBaseOutStructure*>(static_cast<const VkBaseOutStructure*>(head));
        for (; one != nullptr && one->pNext != nullptr; one = one->pNext) {
            if (one->pNext->sType != type) continue;
            before_ = one;
            found_ = one->pNext;
            one->pNext = found_->pNext;
            return;
        }
    }
    ~Unlinked() {
        if (before_ != nullptr) before_->pNext = found_;
    }
    Unlinked(const Unlinked&) = delete;
    Unlinked& operator=(const Unlinked&) = delete;
    Structure* get() const { return reinterpret_cast<Structure*>(found_); }

  private:
    VkBaseOutStructure* before_ = nullptr;
    VkBaseOutStructure* found_ = nullptr;
};

// NOLINTBEGIN(misc-const-correctness): the signatures are Vulkan's
VkResult VKAPI_CALL extensions(VkPhysicalDevice physical, const char* layer, uint32_t* count,
                               VkExtensionProperties* properties) {
    const auto real =
        core<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
    uint32_t all = 0;
    real(physical, layer, &all, nullptr);
    std::vector<VkExtensionProperties> found(all + 1);
    real(physical, layer, &all, found.data());
    std::snprintf(found[all].extensionName, VK_MAX_EXTENSION_NAME_SIZE, "%s", kStatisticsExtension);
    if (properties != nullptr) {
        std::copy_n(found.begin(), std::min<size_t>(*count, found.size()), properties);
    }
    *count = static_cast<uint32_t>(found.size());
    return VK_SUCCESS;
}

void VKAPI_CALL features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2* asked) {
    const Unlinked<StatisticsFeatures> statistics(asked);
    core<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical, asked);
    if (statistics.get() != nullptr) {
        const char* const wanted = std::getenv("WATCHED_STATISTICS");
        const bool none = wanted == nullptr || std::strcmp(wanted, "none") == 0;
        statistics.get()->statistics = none ? VK_FALSE : VK_TRUE;
    }
}

VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* given,
                                  const VkAllocationCallbacks* allocator, VkDevice* device) {
    const Unlinked<StatisticsFeatures> statistics(given);
    std::vector<const char*> names(given->ppEnabledExtensionNames,
                                   given->ppEnabledExtensionNames + given->enabledExtensionCount);
    const auto named = std::remove_if(names.begin(), names.end(), [](const char* name) {
        return std::strcmp(name, kStatisticsExtension) == 0;
    });
    const bool asked = named != names.end() && statistics.get() != nullptr;
    if (asked && statistics.get()->statistics == VK_TRUE) say("statistics enabled");
    names.erase(named, names.end());
    VkDeviceCreateInfo info = *given;
    info.ppEnabledExtensionNames = names.data();
    info.enabledExtensionCount = static_cast<uint32_t>(names.size());
    return core<PFN_vkCreateDevice>("vkCreateDevice")(physical, &info, allocator, device);
}

VkResult VKAPI_CALL create_pipelines(VkDevice device, VkDeferredOperationKHR operation,
                                     VkPipelineCache cache, uint32_t count,
                                     const GraphPipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* allocator, VkPipeline* made) {
    const Unlinked<PipelineStatisticsCreateInfo> statistics(infos);
    if (statistics.get() != nullptr && statistics.get()->allow == VK_TRUE) say("pipeline counts");
    return of_device<CreateDataGraphPipelinesARM>(device, "vkCreateDataGraphPipelinesARM")(
        device, operation, cache, count, infos, allocator, made);
}

VkResult VKAPI_CALL create_session(VkDevice device, const GraphSessionCreateInfo* info,
                                   const VkAllocationCallbacks* allocator,
                                   GraphSessionHandle* session) {
    const Unlinked<SessionStatisticsCreateInfo> statistics(info);
    const VkResult result = of_device<CreateDataGraphPipelineSessionARM>(
        device, "vkCreateDataGraphPipelineSessionARM")(device, info, allocator, session);
    if (statistics.get() != nullptr) state().modes[*session] = statistics.get()->mode;
    return result;
}

VkResult VKAPI_CALL bind_points(VkDevice device, const BindPointRequirementsInfo* info,
                                uint32_t* count, BindPointRequirement* points) {
    const auto real = of_device<GetDataGraphPipelineSessionBindPointRequirementsARM>(
        device, "vkGetDataGraphPipelineSessionBindPointRequirementsARM");
    if (state().modes.count(info->session) == 0) return real(device, info, count, points);
    uint32_t all = 0;
    real(device, info, &all, nullptr);
    if (points != nullptr) {
        real(device, info, &all, points);
        points[all].point = kBindPointStatistics;
        points[all].count = 2;
    }
    *count = all + 1;
    return VK_SUCCESS;
}

void VKAPI_CALL memory_needs(VkDevice device, const GraphSessionMemoryRequirementsInfo* info,
                             VkMemoryRequirements2* needs) {
    if (info->point == kBindPointStatistics) {
        needs->memoryRequirements = {kBytes, 64, ~0U};
        return;
    }
    of_device<GetDataGraphPipelineSessionMemoryRequirementsARM>(
        device, "vkGetDataGraphPipelineSessionMemoryRequirementsARM")(device, info, needs);
}

VkResult VKAPI_CALL bind_memory(VkDevice device, uint32_t count,
                                const BindGraphSessionMemoryInfo* infos) {
    if (count == 1 && infos->point == kBindPointStatistics) {
        state().counted.push_back({infos->memory, infos->offset, infos->object});
        return VK_SUCCESS;
    }
    return of_device<BindDataGraphPipelineSessionMemoryARM>(
        device, "vkBindDataGraphPipelineSessionMemoryARM")(device, count, infos);
}

VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                               VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
    const VkResult result =
        core<PFN_vkMapMemory>("vkMapMemory")(device, memory, offset, size, flags, data);
    if (result == VK_SUCCESS) state().mapped[memory] = static_cast<uint8_t*>(*data) - offset;
    return result;
}

VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                           VkFence fence) {
    State& s = state();
    ++s.runs;
    for (const Counted& one : s.counted) {
        if (s.mapped.count(one.memory) == 0) continue;
        const uint32_t mode = s.modes.empty() ? 0 : s.modes.begin()->second;
        std::snprintf(reinterpret_cast<char*>(s.mapped[one.memory] + one.offset), kBytes,
                      "mode %u, object %u, run %u", mode, one.object, s.runs);
    }
    return core<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, count, infos, fence);
}

VkResult VKAPI_CALL properties(VkDevice, const GraphPipelineInfo*, uint32_t count,
                               GraphPipelineProperty* asked) {
    for (uint32_t i = 0; i < count; ++i) {
        const std::string text =
            asked[i].property == kDebugDatabase ? "which operators" : "which counters";
        if (asked[i].data != nullptr) {
            std::memcpy(asked[i].data, text.data(), std::min(asked[i].size, text.size()));
        }
        asked[i].size = text.size();
    }
    return VK_SUCCESS;
}

// NOLINTEND(misc-const-correctness)

struct Entry {
    const char* name;
    PFN_vkVoidFunction function;
};

template <typename Function>
Entry entry(const char* name, Function function) {
    return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

}  // namespace

PFN_vkVoidFunction counting_function(const char* name, PFN_vkVoidFunction (*real)(const char*)) {
    state().find_real = real;
    static const Entry entries[] = {
        entry("vkEnumerateDeviceExtensionProperties", extensions),
        entry("vkGetPhysicalDeviceFeatures2", features),
        entry("vkCreateDevice", create_device),
        entry("vkCreateDataGraphPipelinesARM", create_pipelines),
        entry("vkCreateDataGraphPipelineSessionARM", create_session),
        entry("vkGetDataGraphPipelineSessionBindPointRequirementsARM", bind_points),
        entry("vkGetDataGraphPipelineSessionMemoryRequirementsARM", memory_needs),
        entry("vkBindDataGraphPipelineSessionMemoryARM", bind_memory),
        entry("vkGetDataGraphPipelinePropertiesARM", properties),
        entry("vkMapMemory", map_memory),
        entry("vkQueueSubmit", submit),
    };
    for (const Entry& one : entries) {
        if (std::strcmp(one.name, name) == 0) return one.function;
    }
    return nullptr;
}
