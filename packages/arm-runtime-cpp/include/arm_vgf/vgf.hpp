// VGF programs inside an application that uses Vulkan: on its device, with its buffers and images,
// in its command buffers.
//
//     namespace vgf = arm_vgf;
//     vgf::Device device = vgf::Device::adopt({instance, physical, device, queue_family, queue,
//                                              vkGetInstanceProcAddr, &device_create_info,
//                                              VK_API_VERSION_1_3});
//     vgf::Program program(file.data(), file.size(), device, {});
//     // For each frame in flight; `frame` is its number, from 0:
//     vgf::Image color{view, layout, VK_FORMAT_R16G16B16A16_SFLOAT, 960, 540,
//                      vgf::Channels::kFirst};
//     program.bind(frame, "color", color);
//     program.bind(frame, "out", buffer, offset);
//     // In each frame, between barriers of the application (kInputs, kOutputs):
//     program.record(command_buffer, frame);
//
// Programs run on the compute engine: kernels of this library, on any Vulkan 1.1 device.
//
// Threads: one may use a Program at a time; several may use several. Several may make programs of
// one Device, of which one waits for the other. There is no global state: the library knows of a
// device what `adopt` is told, and opens no loader of its own.
//
// Errors are exceptions of the class Error: a text, and the VkResult of a call that failed. After
// one, a Program is as it was before.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arm_runtime/vgf.hpp"

namespace arm_vgf {

using arm_runtime::vgf::DataType;
using arm_runtime::vgf::Error;
using arm_runtime::vgf::MemoryUse;
using arm_runtime::vgf::PushConstantInfo;
using arm_runtime::vgf::Symbol;
using arm_runtime::vgf::TensorInfo;
using arm_runtime::vgf::Tuning;

/// Whether an application should enable a feature. A network needs none.
enum class Need : uint8_t {
    /// Kernels are faster with it. robustBufferAccess: files from strangers are safer, and other
    /// shaders of the device may be slower; without such files it is not needed.
    kShould,
    /// Compute shaders in a VGF may need it; a program without them does not.
    kMay,
};

/// A feature that a device has, and that this library uses where it is enabled.
struct Feature {
    Need need;
    const char* name;  ///< the member of the structure: "shaderIntegerDotProduct"
    /// The one to chain to VkDeviceCreateInfo: of the Vulkan version, such as that of
    /// VkPhysicalDeviceVulkan13Features, or on an older device of the extension. `adopt` finds the
    /// member in either.
    VkStructureType structure;
    size_t offset;          ///< of the member, a VkBool32, in the structure
    const char* extension;  ///< to be enabled as well; "": it is of the device's version
    const char* purpose;    ///< for a log: "products of int8"
};

/// What a device must have, and what of it should and may be enabled.
struct Requirements {
    /// The device must have this version; VkApplicationInfo::apiVersion must say no less.
    uint32_t api_version = VK_API_VERSION_1_1;
    /// The queue must be of one of these families: they run compute shaders.
    std::vector<uint32_t> queue_families;
    /// What the device has. A network needs none of them: without, it runs slower and gives the
    /// same integers. A VGF with compute shaders may need what is kMay.
    std::vector<Feature> features;
};

/// Says, before a device is made, how to make it. `api_version`: as in VkApplicationInfo; what
/// belongs to a newer version is not listed.
///
/// Throws Error: programs cannot run on this device.
ARM_VGF_EXPORT Requirements requirements(VkInstance instance, VkPhysicalDevice physical,
                                         PFN_vkGetInstanceProcAddr get_proc_addr,
                                         uint32_t api_version);

/// Sets features in the structures that an application chains to VkDeviceCreateInfo, from its
/// first one on: of a Vulkan version, or of extensions. What is in no structure of the chain stays
/// off. To leave out a feature, remove it from the list before. Returns the extensions to be
/// enabled as well, each once; the texts live as long as the process.
ARM_VGF_EXPORT std::vector<const char*> enable(const std::vector<Feature>& features, void* chain);

/// A part of device memory: all of a VkDeviceMemory, or a piece of one.
struct Allocation {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    /// Where HOST_VISIBLE was required: the address of the part, not of `memory`, until `free`.
    void* mapped = nullptr;
    void* own = nullptr;  ///< the allocator's: a VmaAllocation
};

/// An application's allocator of device memory, such as VMA. It is called while programs are made
/// and destroyed, by the threads that do it; not by bind, resize or record. It outlives the Device
/// and its programs.
struct Allocator {
    void* user = nullptr;
    /// Memory with all of `required`, and as many of `preferred` as there are. It is for a buffer
    /// or for an image of optimal tiling: where both may lie in one VkDeviceMemory, parts keep
    /// bufferImageGranularity. A result but VK_SUCCESS becomes an Error. But constants are first
    /// asked for as DEVICE_LOCAL and HOST_VISIBLE, where a device has such memory: after an error
    /// they are asked for again, as DEVICE_LOCAL, and uploaded.
    VkResult (*allocate)(void* user, const VkMemoryRequirements* needs,
                         VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred,
                         Allocation* made) = nullptr;
    void (*free)(void* user, const Allocation* made) = nullptr;
};

/// What an application says of its device.
struct Adopted {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t queue_family;  ///< of the queue that programs are recorded for
    VkQueue queue;
    PFN_vkGetInstanceProcAddr get_proc_addr;  ///< of the application's loader, or volk's
    /// What the device was made with: of its extensions and features (pNext, pEnabledFeatures) are
    /// those that are used. Read in `adopt` alone.
    const VkDeviceCreateInfo* enabled;
    /// VkApplicationInfo's. Features of newer versions are not used, though they be enabled: matrix
    /// units want 1.3.
    uint32_t api_version;
    /// Where compiled pipelines, and what was found out about kernels, are kept between processes;
    /// empty: nowhere.
    // Without initializers, GCC warns of members that an application leaves out.
    std::string cache_folder = {};  // NOLINT(readability-redundant-member-init)
    /// Of all memory of programs on the device; without functions, it is vkAllocateMemory's.
    Allocator allocator = {};  // NOLINT(readability-redundant-member-init)
    /// What loading a program submits goes to this queue, of a family that runs compute shaders, so
    /// that `queue` is free for frames meanwhile; null: to `queue`.
    uint32_t loading_family = 0;
    VkQueue loading_queue = VK_NULL_HANDLE;
};

/// A device of an application, with one of its queues. Copies are of the same device.
///
/// The instance, the device and the queue must live until the Device and its programs are gone;
/// none of them is destroyed here. A program may outlive the Device that it was made with.
class ARM_VGF_EXPORT Device {
  public:
    /// Throws Error: no Vulkan 1.1, or the queue's family runs no compute shaders.
    static Device adopt(const Adopted& adopted);

    const std::string& name() const;
    /// What is used of what is enabled, as a sentence for a log.
    std::string description() const;

    class Impl;
    const std::shared_ptr<Impl>& impl() const { return impl_; }

  private:
    explicit Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

/// Where the channels of a tensor that is an image lie.
enum class Channels : uint8_t {
    kLast,   ///< [height, width, channels], or with a batch of 1 before
    kFirst,  ///< [channels, height, width]: planes; or with a batch of 1 before
};

/// An image that an input is read from or an output is written to: two-dimensional, its view of one
/// level and one layer. Its width and height are the tensor's.
///
/// Inputs are read as sampled images (VK_IMAGE_USAGE_SAMPLED_BIT) in SHADER_READ_ONLY_OPTIMAL,
/// READ_ONLY_OPTIMAL or GENERAL, outputs are written as storage images (VK_IMAGE_USAGE_STORAGE_BIT)
/// in GENERAL. The page "VGF in your renderer" has the formats, and the layouts of images of depth.
///
/// A tensor of float16, bfloat16 or float32 has the values that a shader reads. A tensor of uint8,
/// int8, uint16 or int16 takes UNORM or SNORM of its width and sign: its numbers are those of the
/// texels (SNORM's lowest is read as the one above it). Tensors of other types are bound to
/// buffers. A tensor may have fewer channels than the image: the rest is not read, and written as
/// 0, alpha as 1.
struct Image {
    VkImageView view = VK_NULL_HANDLE;
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
    VkFormat format = VK_FORMAT_UNDEFINED;
    uint32_t width = 0;
    uint32_t height = 0;
    Channels channels = Channels::kLast;  ///< PyTorch's order is kFirst
};

/// The bits are those of synchronization2 as well.
struct Access {
    VkPipelineStageFlags stages;
    VkAccessFlags access;
};

/// How inputs are read and outputs are written. The application has barriers from the writes of an
/// input to kInputs, and from the last use of an output to kOutputs; after `record`, from kOutputs
/// to the reads of the output, and from kInputs to what writes the input again. Layouts of images
/// are those that `bind` was told, before and after. SHADER_READ in kOutputs is for the last word
/// of a buffer's tensor, of which bytes may be kept.
constexpr Access kInputs{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT};
constexpr Access kOutputs{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};

/// How constants (weights) get to the device, where it has no memory of its own for the host to
/// write to. Where it has (integrated GPUs, resizable BAR), they are written there, and nothing is
/// submitted or recorded.
enum class Upload : uint8_t {
    kSubmitted,  ///< by the constructor, which waits
    kRecorded,   ///< by Program::record_upload
};

/// An output that is an input of the next frame: it stays in the program's memory, and is not
/// copied. Both have one type and shape, and no memory that is also another tensor's. Neither must
/// be bound. If the output is, it is written to the application's memory as well; if the input is,
/// it is read where states start (see Program::restart), which are zeros otherwise.
struct State {
    std::string output;
    std::string input;
};

struct ProgramOptions {
    /// Frames whose command buffers may be pending at once, numbered from 0; each has bindings of
    /// its own.
    uint32_t frames_in_flight = 2;
    /// As arm_runtime::vgf::Options::sizes: of a program that leaves sizes open.
    std::string sizes = {};  // NOLINT(readability-redundant-member-init)
    /// Pipelines are taken from it, and added to it, if it is there. Nobody else uses it meanwhile.
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
    /// Variants of kernels are timed when the program is made, which takes up to two seconds.
    Tuning tuning = Tuning::kOff;
    Upload upload = Upload::kSubmitted;
    /// On a GPU, kernels that no program has used there are tested: each runs once, in a submission
    /// that is waited for, and one that computes wrongly is not used. What was found is known to
    /// later programs of the Device, and in Adopted::cache_folder. false: they are used untested.
    bool test_kernels = true;
    /// Frames with states are submitted in the order in which they are recorded, each once.
    std::vector<State> states = {};  // NOLINT(readability-redundant-member-init)
    /// What a frame does is recorded once, and `record` adds one command that executes it, to a
    /// command buffer that is a primary one. All state of that command buffer is undefined behind
    /// it. It is recorded anew after `bind`, `resize` and `set_push_constants`: record a frame
    /// after these only when its last command buffer is done.
    bool replay = false;
};

/// A program, ready to be recorded.
///
/// Its memory is there once, however many frames are in flight: frames run one after the other on
/// the queue. What `record` records begins with a barrier: it waits for all compute shaders and
/// copies that were submitted to the queue before.
class ARM_VGF_EXPORT Program {
  public:
    /// Loads a VGF, at any alignment, which may go away afterwards. Makes pipelines and memory.
    /// Submits, and waits for, what Upload, ProgramOptions::test_kernels and tuning say: to the
    /// loading queue, which nobody else may use meanwhile. Without these it submits nothing.
    ///
    /// Throws Error: the file is malformed, or the device does not run it (it names the segment and
    /// the field); or a Vulkan call failed.
    Program(const void* vgf, size_t bytes, const Device& device, const ProgramOptions& options);
    /// No command buffer with the program may be pending; it does not wait. Bound buffers and views
    /// may be gone.
    ~Program();
    Program(Program&&) noexcept;
    Program& operator=(Program&&) noexcept;

    const std::vector<TensorInfo>& inputs() const;
    const std::vector<TensorInfo>& outputs() const;
    const std::vector<Symbol>& symbols() const;
    const MemoryUse& memory() const;

    /// What `memory` will be of a program with these options, before it is made: nothing is
    /// allocated or compiled. An Upload that is not done takes as much as constants once more, of
    /// memory that the host sees. Throws Error, as the constructor does.
    static MemoryUse memory_needed(const void* vgf, size_t bytes, const Device& device,
                                   const ProgramOptions& options);

    /// Whether constants are still to be uploaded: with Upload::kRecorded, until record_upload.
    bool needs_upload() const;
    /// Records the upload of constants, a copy between buffers, for a queue of the family of
    /// Adopted::queue or of the loading queue; nothing, if none is needed. It is submitted before
    /// the first frame: to the same queue, where frames wait for it, or with a semaphore between.
    void record_upload(VkCommandBuffer commands);
    /// That command buffer is done: frees the memory that the constants came from. Without this
    /// call, it is freed with the program.
    void end_upload();

    /// Says where a frame has an input or an output, by its name (TensorInfo::name), from now on.
    /// No command buffer that was recorded for the frame may be pending; those that were are
    /// invalid afterwards, as after any update of a descriptor set. A buffer or a view must live
    /// while what was recorded with it is pending. It compiles nothing, and waits for nothing.
    ///
    /// In a buffer (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT), the tensor lies at `offset`, a multiple of
    /// 4, row-major without gaps. From there on the buffer has room for the tensor's bytes, rounded
    /// up to a multiple of 4. Of an output's last word, bytes behind the tensor are kept.
    ///
    /// Throws Error: there is no such frame or tensor, an input and an output have this name, or
    /// what is told does not fit. The buffer's size and usage, and the view's format, extent and
    /// usage are not known here: the validation layer checks them.
    void bind(uint32_t frame, const std::string& name, VkBuffer buffer, VkDeviceSize offset = 0);
    void bind(uint32_t frame, const std::string& name, const Image& image);
    /// The same by the index in `inputs` or `outputs`: of a name that several have.
    void bind_input(uint32_t frame, size_t index, VkBuffer buffer, VkDeviceSize offset = 0);
    void bind_input(uint32_t frame, size_t index, const Image& image);
    void bind_output(uint32_t frame, size_t index, VkBuffer buffer, VkDeviceSize offset = 0);
    void bind_output(uint32_t frame, size_t index, const Image& image);

    /// The frame that is recorded next starts with fresh states, as the first one does, and that
    /// after `resize`: where the scene is another. Also to be called after a frame that was
    /// recorded and not submitted.
    void restart();

    /// Chooses sizes, by the shapes of all inputs, for what is recorded from now on: of a program
    /// with symbols. Compiles nothing, and allocates no device memory. At first they are the
    /// largest. Inputs and outputs of each frame must be bound again before it is recorded; what is
    /// pending keeps its sizes. Throws Error: a shape does not fit.
    void resize(const std::vector<std::vector<int64_t>>& input_shapes);
    /// The shapes of the outputs at the chosen sizes.
    const std::vector<std::vector<int64_t>>& output_shapes() const;

    /// Those of compute shaders in the VGF, which has no values for them.
    const std::vector<PushConstantInfo>& push_constants() const;
    /// The values of those with this index, for what is recorded from now on. All must be set
    /// before the first `record`. Throws Error: it does not fit.
    void set_push_constants(size_t index, const void* data, size_t bytes);

    /// Records the program into a command buffer that is submitted to the device's queue, outside
    /// of a render pass: dispatches and barriers, and copies between a VGF's own images and
    /// tensors. It submits nothing and allocates no device memory; host memory it allocates only
    /// the first time, and where the VGF has images of its own. Pipeline, descriptor sets and push
    /// constants of compute are others afterwards.
    ///
    /// Throws Error, before it records: there is no such frame, or something is not bound or set.
    void record(VkCommandBuffer commands, uint32_t frame);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace arm_vgf
