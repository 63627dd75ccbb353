// The C interface of programs in an application's frames.
#include <memory>

#include "../c_interface.hpp"
#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"

namespace vgf = arm_vgf;

struct arm_vgf_adopted {
    vgf::Device device;
};

struct arm_vgf_program {
    vgf::Program program;
};

namespace {

using namespace arm_runtime::c;

/// What a caller means by a handle. Throws Error: nothing.
template <typename Handle>
Handle& checked(Handle* handle, const char* what) {
    if (handle == nullptr) throw vgf::Error(std::string("the ") + what + " is NULL");
    return *handle;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

/// Of Vulkan, where 0 means 1.1.
uint32_t version_of(uint32_t version) { return version == 0 ? VK_API_VERSION_1_1 : version; }

}  // namespace

int arm_vgf_get_feature(VkInstance instance, VkPhysicalDevice physical,
                        PFN_vkGetInstanceProcAddr get_proc_addr, uint32_t api_version, size_t index,
                        arm_vgf_feature* feature, size_t* count) {
    return status_of([&] {
        const vgf::Requirements found =
            vgf::requirements(instance, physical, get_proc_addr, version_of(api_version));
        if (count != nullptr) *count = found.features.size();
        if (feature == nullptr) return;
        if (index >= found.features.size()) {
            throw vgf::Error("feature " + std::to_string(index) + " of " +
                             std::to_string(found.features.size()));
        }
        const vgf::Feature& row = found.features[index];
        write_struct(feature, {0, row.need == vgf::Need::kShould ? 1 : 0, row.name, row.structure,
                               row.offset, row.extension, row.purpose});
    });
}

arm_vgf_adopted* arm_vgf_adopt(const arm_vgf_adopt_info* info) {
    std::unique_ptr<arm_vgf_adopted> made;
    succeeds([&] {
        const arm_vgf_adopt_info given = read_struct(info);
        made = std::make_unique<arm_vgf_adopted>(arm_vgf_adopted{
            vgf::Device::adopt({given.instance, given.physical, given.device, given.queue_family,
                                given.queue, given.get_proc_addr, given.enabled,
                                version_of(given.api_version), text_of(given.cache_folder)})});
    });
    return made.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_adopted_close(arm_vgf_adopted* device) { delete device; }

arm_vgf_program* arm_vgf_program_open(const void* data, size_t bytes, const arm_vgf_adopted* device,
                                      const arm_vgf_program_options* options) {
    std::unique_ptr<arm_vgf_program> made;
    succeeds([&] {
        if (data == nullptr) throw vgf::Error("the VGF is NULL");
        vgf::ProgramOptions wanted;
        if (options != nullptr) {
            const arm_vgf_program_options given = read_struct(options);
            if (given.frames_in_flight != 0) wanted.frames_in_flight = given.frames_in_flight;
            wanted.sizes = text_of(given.sizes);
            wanted.pipeline_cache = given.pipeline_cache;
            if (given.tune != nullptr) wanted.tuning = arm_runtime::vgf::tuning_named(given.tune);
        }
        made = std::make_unique<arm_vgf_program>(
            arm_vgf_program{vgf::Program(data, bytes, checked(device, "device").device, wanted)});
    });
    return made.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_program_close(arm_vgf_program* program) { delete program; }

int arm_vgf_program_get_tensor(const arm_vgf_program* program, int outputs, size_t index,
                               arm_vgf_tensor* tensor) {
    return status_of([&] {
        const vgf::Program& loaded = checked(program, "program").program;
        const auto& tensors = outputs ? loaded.outputs() : loaded.inputs();
        if (index >= tensors.size()) {
            throw vgf::Error("tensor " + std::to_string(index) + " of " +
                             std::to_string(tensors.size()));
        }
        const vgf::TensorInfo& found = tensors[index];
        write_struct(tensor, {0, found.name.c_str(), arm_runtime::vgf::name_of(found.type),
                              found.shape.data(), found.shape.size(), found.bytes, nullptr});
    });
}

int arm_vgf_program_bind_buffer(arm_vgf_program* program, uint32_t frame, const char* name,
                                VkBuffer buffer, VkDeviceSize offset) {
    return status_of(
        [&] { checked(program, "program").program.bind(frame, text_of(name), buffer, offset); });
}

int arm_vgf_program_bind_image(arm_vgf_program* program, uint32_t frame, const char* name,
                               const arm_vgf_image* image) {
    return status_of([&] {
        const arm_vgf_image given = read_struct(image);
        checked(program, "program")
            .program.bind(
                frame, text_of(name),
                vgf::Image{given.view, given.layout, given.format, given.width, given.height,
                           given.channels_first ? vgf::Channels::kFirst : vgf::Channels::kLast});
    });
}

int arm_vgf_program_set_push_constants(arm_vgf_program* program, size_t index, const void* data,
                                       size_t bytes) {
    return status_of(
        [&] { checked(program, "program").program.set_push_constants(index, data, bytes); });
}

int arm_vgf_program_record(arm_vgf_program* program, VkCommandBuffer commands, uint32_t frame) {
    return status_of([&] { checked(program, "program").program.record(commands, frame); });
}
