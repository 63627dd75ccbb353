// The C interface of programs in an application's frames.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arm_vgf/vgf.hpp"
#include "arm_vgf/vgf_c.h"
#include "c_status.hpp"

namespace vgf = arm_vgf;

namespace {

/// An allocator in C, for that in C++.
struct CAllocator {
    void* user;
    arm_vgf_allocate allocate;
    arm_vgf_free free;
};

}  // namespace

struct arm_vgf_adopted {
    std::shared_ptr<const CAllocator> allocator;  // before what uses it
    vgf::Device device;
    std::string description;
};

struct arm_vgf_program {
    std::shared_ptr<const CAllocator> allocator;
    vgf::Program program;
};

namespace {

using namespace arm_runtime::c;
using arm_runtime::vgf::vgf_status_of;
using arm_runtime::vgf::vgf_succeeds;

/// What a caller means by a handle. Throws Error: nothing.
template <typename Handle>
Handle& checked(Handle* handle, const char* what) {
    if (handle == nullptr) throw vgf::Error(std::string("the ") + what + " is NULL");
    return *handle;
}

// NOLINTNEXTLINE(misc-const-correctness): as vgf::Allocator has it
VkResult allocate(void* user, const VkMemoryRequirements* needs, VkMemoryPropertyFlags required,
                  VkMemoryPropertyFlags preferred, vgf::Allocation* made) {
    const auto& own = *static_cast<const CAllocator*>(user);
    arm_vgf_allocation given{};
    const VkResult result = own.allocate(own.user, needs, required, preferred, &given);
    *made = {given.memory, given.offset, given.mapped, given.own};
    return result;
}

// NOLINTNEXTLINE(misc-const-correctness): as vgf::Allocator has it
void free_part(void* user, const vgf::Allocation* made) {
    const auto& own = *static_cast<const CAllocator*>(user);
    const arm_vgf_allocation given{made->memory, made->offset, made->mapped, made->own};
    own.free(own.user, &given);
}

template <typename Element>
const Element& at(const std::vector<Element>& elements, size_t index, const char* what) {
    if (index >= elements.size()) {
        throw vgf::Error(std::string(what) + " " + std::to_string(index) + " of " +
                         std::to_string(elements.size()));
    }
    return elements[index];
}

arm_vgf_memory memory_of(const vgf::MemoryUse& use) {
    return {0, use.inputs, use.outputs, use.work, use.constants};
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

vgf::ProgramOptions options_of(const arm_vgf_program_options* options) {
    vgf::ProgramOptions wanted;
    if (options == nullptr) return wanted;
    const arm_vgf_program_options given = read_struct(options);
    if (given.frames_in_flight != 0) wanted.frames_in_flight = given.frames_in_flight;
    wanted.sizes = text_of(given.sizes);
    wanted.pipeline_cache = given.pipeline_cache;
    if (given.tune != nullptr) wanted.tuning = arm_runtime::vgf::tuning_named(given.tune);
    if (given.record_upload) wanted.upload = vgf::Upload::kRecorded;
    wanted.test_kernels = given.skip_kernel_tests == 0;
    wanted.replay = given.replay != 0;
    if (given.state_count != 0 && given.states == nullptr) throw vgf::Error("states are NULL");
    for (size_t i = 0; i < given.state_count; ++i) {
        wanted.states.push_back({text_of(given.states[2 * i]), text_of(given.states[2 * i + 1])});
    }
    return wanted;
}

vgf::Image image_of(const arm_vgf_image* image) {
    const arm_vgf_image given = read_struct(image);
    return {given.view,   given.layout,
            given.format, given.width,
            given.height, given.channels_first ? vgf::Channels::kFirst : vgf::Channels::kLast};
}

}  // namespace

int arm_vgf_get_feature(VkInstance instance, VkPhysicalDevice physical,
                        PFN_vkGetInstanceProcAddr get_proc_addr, uint32_t api_version, size_t index,
                        arm_vgf_feature* feature, size_t* count) {
    return vgf_status_of([&] {
        const vgf::Requirements found =
            vgf::requirements(instance, physical, get_proc_addr, api_version);
        if (count != nullptr) *count = found.features.size();
        if (feature == nullptr) return;
        const vgf::Feature& row = at(found.features, index, "feature");
        write_struct(feature, {0, row.need == vgf::Need::kShould ? 1 : 0, row.name, row.structure,
                               row.offset, row.extension, row.purpose});
    });
}

int arm_vgf_enable(VkInstance instance, VkPhysicalDevice physical,
                   PFN_vkGetInstanceProcAddr get_proc_addr, uint32_t api_version,
                   const int32_t* wanted, size_t feature_count, void* chain,
                   const char** extensions, size_t* extension_count) {
    return vgf_status_of([&] {
        if (extension_count == nullptr || (*extension_count != 0 && extensions == nullptr)) {
            throw vgf::Error("no place for the extensions");
        }
        const vgf::Requirements found =
            vgf::requirements(instance, physical, get_proc_addr, api_version);
        std::vector<vgf::Feature> features;
        for (size_t i = 0; i < found.features.size(); ++i) {
            if (wanted == nullptr || (i < feature_count && wanted[i] != 0)) {
                features.push_back(found.features[i]);
            }
        }
        const std::vector<const char*> names = vgf::enable(features, chain);
        if (names.size() > *extension_count) {
            throw vgf::Error("there are " + std::to_string(names.size()) +
                             " extensions, room for " + std::to_string(*extension_count));
        }
        std::copy(names.begin(), names.end(), extensions);
        *extension_count = names.size();
    });
}

arm_vgf_adopted* arm_vgf_adopt(const arm_vgf_adopt_info* info) {
    std::unique_ptr<arm_vgf_adopted> made;
    vgf_succeeds([&] {
        const arm_vgf_adopt_info given = read_struct(info);
        vgf::Adopted adopted{given.instance,     given.physical,    given.device,
                             given.queue_family, given.queue,       given.get_proc_addr,
                             given.enabled,      given.api_version, text_of(given.cache_folder)};
        adopted.loading_family = given.loading_family;
        adopted.loading_queue = given.loading_queue;
        std::shared_ptr<CAllocator> allocator;
        if (given.allocate != nullptr || given.free != nullptr) {
            allocator = std::make_shared<CAllocator>(
                CAllocator{given.allocator, given.allocate, given.free});
            adopted.allocator = {allocator.get(), given.allocate != nullptr ? allocate : nullptr,
                                 given.free != nullptr ? free_part : nullptr};
        }
        const vgf::Device device = vgf::Device::adopt(adopted);
        made = std::make_unique<arm_vgf_adopted>(
            arm_vgf_adopted{allocator, device, device.description()});
    });
    return made.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_adopted_close(arm_vgf_adopted* device) { delete device; }

const char* arm_vgf_adopted_description(const arm_vgf_adopted* device) {
    return device == nullptr ? "" : device->description.c_str();
}

int arm_vgf_memory_needed(const void* data, size_t bytes, const arm_vgf_adopted* device,
                          const arm_vgf_program_options* options, arm_vgf_memory* memory) {
    return vgf_status_of([&] {
        if (data == nullptr) throw vgf::Error("the VGF is NULL");
        write_struct(memory,
                     memory_of(vgf::Program::memory_needed(
                         data, bytes, checked(device, "device").device, options_of(options))));
    });
}

arm_vgf_program* arm_vgf_program_open(const void* data, size_t bytes, const arm_vgf_adopted* device,
                                      const arm_vgf_program_options* options) {
    std::unique_ptr<arm_vgf_program> made;
    vgf_succeeds([&] {
        if (data == nullptr) throw vgf::Error("the VGF is NULL");
        const arm_vgf_adopted& on = checked(device, "device");
        made = std::make_unique<arm_vgf_program>(arm_vgf_program{
            on.allocator, vgf::Program(data, bytes, on.device, options_of(options))});
    });
    return made.release();
}

// NOLINTNEXTLINE(misc-const-correctness): what is closed is not const to its users
void arm_vgf_program_close(arm_vgf_program* program) { delete program; }

int arm_vgf_program_get_tensor(const arm_vgf_program* program, int outputs, size_t index,
                               arm_vgf_tensor* tensor) {
    return vgf_status_of([&] {
        const vgf::Program& loaded = checked(program, "program").program;
        const auto& tensors = outputs ? loaded.outputs() : loaded.inputs();
        const vgf::TensorInfo& found = at(tensors, index, "tensor");
        write_struct(tensor, {0, found.name.c_str(), arm_runtime::vgf::name_of(found.type),
                              found.shape.data(), found.shape.size(), found.bytes, nullptr});
    });
}

int arm_vgf_program_bind_buffer(arm_vgf_program* program, uint32_t frame, const char* name,
                                VkBuffer buffer, VkDeviceSize offset) {
    return vgf_status_of(
        [&] { checked(program, "program").program.bind(frame, text_of(name), buffer, offset); });
}

int arm_vgf_program_bind_image(arm_vgf_program* program, uint32_t frame, const char* name,
                               const arm_vgf_image* image) {
    return vgf_status_of(
        [&] { checked(program, "program").program.bind(frame, text_of(name), image_of(image)); });
}

int arm_vgf_program_bind_buffer_at(arm_vgf_program* program, uint32_t frame, int outputs,
                                   size_t index, VkBuffer buffer, VkDeviceSize offset) {
    return vgf_status_of([&] {
        vgf::Program& bound = checked(program, "program").program;
        outputs ? bound.bind_output(frame, index, buffer, offset)
                : bound.bind_input(frame, index, buffer, offset);
    });
}

int arm_vgf_program_bind_image_at(arm_vgf_program* program, uint32_t frame, int outputs,
                                  size_t index, const arm_vgf_image* image) {
    return vgf_status_of([&] {
        vgf::Program& bound = checked(program, "program").program;
        outputs ? bound.bind_output(frame, index, image_of(image))
                : bound.bind_input(frame, index, image_of(image));
    });
}

int arm_vgf_program_get_symbol(const arm_vgf_program* program, size_t index,
                               arm_vgf_symbol* symbol) {
    return vgf_status_of([&] {
        const vgf::Symbol& found =
            at(checked(program, "program").program.symbols(), index, "symbol");
        write_struct(symbol, {0, found.name.c_str(), found.least, found.most});
    });
}

int arm_vgf_program_get_push_constants(const arm_vgf_program* program, size_t index,
                                       arm_vgf_push_constants* push_constants) {
    return vgf_status_of([&] {
        const vgf::PushConstantInfo& found =
            at(checked(program, "program").program.push_constants(), index, "push constants");
        write_struct(push_constants, {0, found.segment.c_str(), found.offset, found.bytes});
    });
}

int arm_vgf_program_get_memory(const arm_vgf_program* program, arm_vgf_memory* memory) {
    return vgf_status_of(
        [&] { write_struct(memory, memory_of(checked(program, "program").program.memory())); });
}

int arm_vgf_program_needs_upload(const arm_vgf_program* program) {
    bool needed = false;
    const int status =
        vgf_status_of([&] { needed = checked(program, "program").program.needs_upload(); });
    return status == 0 && needed ? 1 : status;
}

int arm_vgf_program_record_upload(arm_vgf_program* program, VkCommandBuffer commands) {
    return vgf_status_of([&] { checked(program, "program").program.record_upload(commands); });
}

int arm_vgf_program_end_upload(arm_vgf_program* program) {
    return vgf_status_of([&] { checked(program, "program").program.end_upload(); });
}

int arm_vgf_program_resize(arm_vgf_program* program, const int64_t* const* shapes,
                           const size_t* ranks, size_t count) {
    return vgf_status_of([&] {
        if (count != 0 && (shapes == nullptr || ranks == nullptr)) {
            throw vgf::Error("shapes or ranks are NULL");
        }
        std::vector<std::vector<int64_t>> given;
        for (size_t i = 0; i < count; ++i) {
            if (shapes[i] == nullptr && ranks[i] != 0) throw vgf::Error("a shape is NULL");
            given.emplace_back(shapes[i], shapes[i] + ranks[i]);
        }
        checked(program, "program").program.resize(given);
    });
}

int arm_vgf_program_get_output_shape(const arm_vgf_program* program, size_t output,
                                     const int64_t** shape, size_t* rank) {
    return vgf_status_of([&] {
        const std::vector<int64_t>& found =
            at(checked(program, "program").program.output_shapes(), output, "output");
        if (shape == nullptr || rank == nullptr) throw vgf::Error("no place for the shape");
        *shape = found.data();
        *rank = found.size();
    });
}

int arm_vgf_program_restart(arm_vgf_program* program) {
    return vgf_status_of([&] { checked(program, "program").program.restart(); });
}

int arm_vgf_program_set_push_constants(arm_vgf_program* program, size_t index, const void* data,
                                       size_t bytes) {
    return vgf_status_of(
        [&] { checked(program, "program").program.set_push_constants(index, data, bytes); });
}

int arm_vgf_program_record(arm_vgf_program* program, VkCommandBuffer commands, uint32_t frame) {
    return vgf_status_of([&] { checked(program, "program").program.record(commands, frame); });
}
