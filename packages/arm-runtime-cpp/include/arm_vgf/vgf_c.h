/* VGF programs on an application's Vulkan device, in its command buffers, for C; arm_vgf/vgf.hpp
   is the same for C++, and says what is to be synchronized and which images fit.

   Structures but arm_vgf_allocation begin with their size, which the caller sets to sizeof, also
   where a call fills them in; members that are 0 have the defaults. A call returns 0 or a handle,
   and after an error -1 or NULL; arm_vgf_last_error(), of arm_runtime/vgf_c.h, is the text, and
   arm_vgf_last_result() the VkResult, such as VK_ERROR_DEVICE_LOST. */
#ifndef ARM_VGF_VGF_C_H_
#define ARM_VGF_VGF_C_H_

#include <vulkan/vulkan_core.h>

#include "arm_runtime/vgf_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device of the application, with one of its queues. */
typedef struct arm_vgf_adopted arm_vgf_adopted;

/* A part of device memory, as Allocation of vgf.hpp. */
typedef struct arm_vgf_allocation {
    VkDeviceMemory memory;
    VkDeviceSize offset;
    void* mapped; /* where HOST_VISIBLE was required: the address of the part */
    void* own;    /* for `free` */
} arm_vgf_allocation;

/* As Allocator of vgf.hpp. */
typedef VkResult (*arm_vgf_allocate)(void* user, const VkMemoryRequirements* needs,
                                     VkMemoryPropertyFlags required,
                                     VkMemoryPropertyFlags preferred, arm_vgf_allocation* made);
typedef void (*arm_vgf_free)(void* user, const arm_vgf_allocation* made);

typedef struct arm_vgf_adopt_info {
    size_t size;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t queue_family;
    VkQueue queue;
    PFN_vkGetInstanceProcAddr get_proc_addr;
    const VkDeviceCreateInfo* enabled; /* what the device was made with; read in the call alone */
    uint32_t api_version;              /* VkApplicationInfo's */
    const char* cache_folder;          /* NULL: nothing is kept */
    void* allocator;                   /* `user` of the two functions */
    arm_vgf_allocate allocate;         /* both NULL: vkAllocateMemory */
    arm_vgf_free free;
    uint32_t loading_family; /* of loading_queue */
    VkQueue loading_queue;   /* what loading submits goes to it; NULL: to `queue` */
} arm_vgf_adopt_info;

/* What a device has, and programs use where it is enabled. Texts live as long as the process. */
typedef struct arm_vgf_feature {
    size_t size;
    int32_t should;            /* 1: Need::kShould of vgf.hpp; 0: Need::kMay */
    const char* name;          /* the member, a VkBool32: "shaderIntegerDotProduct" */
    VkStructureType structure; /* to be chained to VkDeviceCreateInfo */
    size_t offset;             /* of the member in the structure */
    const char* extension;     /* to be enabled as well; "": none */
    const char* purpose;
} arm_vgf_feature;

/* The feature with this number, from 0, of a device that is not made yet, and how many there are.
   `api_version` is VkApplicationInfo's. `feature` or `count` may be NULL; without `feature`,
   `index` does not matter. -1: programs cannot run on the device, or it has no such feature. The
   queue is of a family with VK_QUEUE_COMPUTE_BIT. */
ARM_VGF_EXPORT int arm_vgf_get_feature(VkInstance instance, VkPhysicalDevice physical,
                                       PFN_vkGetInstanceProcAddr get_proc_addr,
                                       uint32_t api_version, size_t index, arm_vgf_feature* feature,
                                       size_t* count);

/* Sets the features of arm_vgf_get_feature, from 0 to `feature_count` - 1 those whose `wanted` is
   not 0 (`wanted` NULL: all of the device's), in the structures that are chained to
   VkDeviceCreateInfo, from the first one on; what is in none of them stays off. `extensions` has
   room for `extension_count`, and gets those to be enabled as well, of which there are three at
   most; `extension_count` is how many there are then. */
ARM_VGF_EXPORT int arm_vgf_enable(VkInstance instance, VkPhysicalDevice physical,
                                  PFN_vkGetInstanceProcAddr get_proc_addr, uint32_t api_version,
                                  const int32_t* wanted, size_t feature_count, void* chain,
                                  const char** extensions, size_t* extension_count);

/* The instance, the device and the queue must live until this one and its programs are closed. The
   programs may be closed after it. */
ARM_VGF_EXPORT arm_vgf_adopted* arm_vgf_adopt(const arm_vgf_adopt_info* info);
ARM_VGF_EXPORT void arm_vgf_adopted_close(arm_vgf_adopted* device);
/* What is used of what is enabled, as a sentence for a log. It lives as long as the device. */
ARM_VGF_EXPORT const char* arm_vgf_adopted_description(const arm_vgf_adopted* device);

typedef struct arm_vgf_program arm_vgf_program;

typedef struct arm_vgf_program_options {
    size_t size;
    uint32_t frames_in_flight; /* 0: 2 */
    const char* sizes;         /* as in arm_vgf_options */
    VkPipelineCache pipeline_cache;
    const char* tune;          /* as in arm_vgf_options; NULL: "off" */
    int32_t record_upload;     /* 1: Upload::kRecorded of vgf.hpp */
    int32_t skip_kernel_tests; /* 1: ProgramOptions::test_kernels is false */
    const char* const* states; /* names of an output and an input for each; see State of vgf.hpp */
    size_t state_count;
    int32_t replay; /* 1: ProgramOptions::replay of vgf.hpp */
} arm_vgf_program_options;

/* Bytes of device memory. */
typedef struct arm_vgf_memory {
    size_t size;
    uint64_t inputs;
    uint64_t outputs;
    uint64_t work;
    uint64_t constants;
} arm_vgf_memory;

/* What a program will take, before it is made. `options` may be NULL. */
ARM_VGF_EXPORT int arm_vgf_memory_needed(const void* vgf, size_t bytes,
                                         const arm_vgf_adopted* device,
                                         const arm_vgf_program_options* options,
                                         arm_vgf_memory* memory);

/* Loads a VGF, which may go away afterwards. What it submits, and to which queue, is as with
   Program of vgf.hpp: nobody else may use that queue meanwhile. `options` may be NULL. */
ARM_VGF_EXPORT arm_vgf_program* arm_vgf_program_open(const void* vgf, size_t bytes,
                                                     const arm_vgf_adopted* device,
                                                     const arm_vgf_program_options* options);
/* No command buffer with the program may be pending. Nothing happens for NULL. */
ARM_VGF_EXPORT void arm_vgf_program_close(arm_vgf_program* program);

/* An input (output: `outputs` is 1), at its largest. `sizes` of it is NULL. -1: there is none with
   this number, which tells how many there are. Texts and shapes live as long as the program. */
ARM_VGF_EXPORT int arm_vgf_program_get_tensor(const arm_vgf_program* program, int outputs,
                                              size_t index, arm_vgf_tensor* tensor);

/* Sizes that `resize` chooses, and what compute shaders take besides inputs. -1: there is none with
   this number, which tells how many there are. Texts live as long as the program. */
ARM_VGF_EXPORT int arm_vgf_program_get_symbol(const arm_vgf_program* program, size_t index,
                                              arm_vgf_symbol* symbol);
ARM_VGF_EXPORT int arm_vgf_program_get_push_constants(const arm_vgf_program* program, size_t index,
                                                      arm_vgf_push_constants* push_constants);

ARM_VGF_EXPORT int arm_vgf_program_get_memory(const arm_vgf_program* program,
                                              arm_vgf_memory* memory);

/* 1: constants wait for record_upload; 0: they do not; -1: it failed. As Program of vgf.hpp. */
ARM_VGF_EXPORT int arm_vgf_program_needs_upload(const arm_vgf_program* program);
ARM_VGF_EXPORT int arm_vgf_program_record_upload(arm_vgf_program* program,
                                                 VkCommandBuffer commands);
ARM_VGF_EXPORT int arm_vgf_program_end_upload(arm_vgf_program* program);

/* Chooses sizes by the shapes of all inputs, of which there are `count`; as Program::resize. */
ARM_VGF_EXPORT int arm_vgf_program_resize(arm_vgf_program* program, const int64_t* const* shapes,
                                          const size_t* ranks, size_t count);
/* The shape of an output at these sizes; it lives until the next `resize`. */
ARM_VGF_EXPORT int arm_vgf_program_get_output_shape(const arm_vgf_program* program, size_t output,
                                                    const int64_t** shape, size_t* rank);

/* The frame that is recorded next starts with fresh states; as Program::restart. */
ARM_VGF_EXPORT int arm_vgf_program_restart(arm_vgf_program* program);

/* As Program::bind of vgf.hpp: for frames from 0 to frames_in_flight - 1, at an offset that is a
   multiple of 4. */
ARM_VGF_EXPORT int arm_vgf_program_bind_buffer(arm_vgf_program* program, uint32_t frame,
                                               const char* name, VkBuffer buffer,
                                               VkDeviceSize offset);
/* By the index of an input (output: `outputs` is 1), where several have one name. */
ARM_VGF_EXPORT int arm_vgf_program_bind_buffer_at(arm_vgf_program* program, uint32_t frame,
                                                  int outputs, size_t index, VkBuffer buffer,
                                                  VkDeviceSize offset);

typedef struct arm_vgf_image {
    size_t size;
    VkImageView view;
    VkImageLayout layout;
    VkFormat format;
    uint32_t width;
    uint32_t height;
    int32_t channels_first; /* 1: [channels, height, width]; 0: channels are last; or with a batch
                               of 1 before */
} arm_vgf_image;

ARM_VGF_EXPORT int arm_vgf_program_bind_image(arm_vgf_program* program, uint32_t frame,
                                              const char* name, const arm_vgf_image* image);
ARM_VGF_EXPORT int arm_vgf_program_bind_image_at(arm_vgf_program* program, uint32_t frame,
                                                 int outputs, size_t index,
                                                 const arm_vgf_image* image);

/* The values of the push constants with this number, which a compute shader in the VGF takes, for
   what is recorded from now on. */
ARM_VGF_EXPORT int arm_vgf_program_set_push_constants(arm_vgf_program* program, size_t index,
                                                      const void* data, size_t bytes);

/* As Program::record of vgf.hpp: records dispatches and barriers into a command buffer that is
   submitted to the device's queue; submits nothing. */
ARM_VGF_EXPORT int arm_vgf_program_record(arm_vgf_program* program, VkCommandBuffer commands,
                                          uint32_t frame);

#ifdef __cplusplus
}
#endif

#endif /* ARM_VGF_VGF_C_H_ */
