/* VGF programs on an application's Vulkan device, in its command buffers, for C; arm_vgf/vgf.hpp
   is the same for C++, and says what is to be synchronized and which images fit.

   Structures begin with their size, errors are as in arm_runtime/vgf_c.h: a call returns 0 or a
   handle, and after an error -1 or NULL; arm_vgf_last_error() is the text. */
#ifndef ARM_VGF_VGF_C_H_
#define ARM_VGF_VGF_C_H_

#include <vulkan/vulkan_core.h>

#include "arm_runtime/vgf_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device of the application, with one of its queues. */
typedef struct arm_vgf_adopted arm_vgf_adopted;

typedef struct arm_vgf_adopt_info {
    size_t size;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t queue_family;
    VkQueue queue;
    PFN_vkGetInstanceProcAddr get_proc_addr;
    const VkDeviceCreateInfo* enabled; /* what the device was made with */
    uint32_t api_version;              /* VkApplicationInfo's; 0: 1.1 */
    const char* cache_folder;          /* NULL: nothing is kept */
} arm_vgf_adopt_info;

/* What a device has, and programs use where it is enabled. Texts live as long as the process. */
typedef struct arm_vgf_feature {
    size_t size;
    int32_t should;            /* 1: programs gain by it; 0: shaders in a VGF may need it */
    const char* name;          /* the member, a VkBool32: "shaderIntegerDotProduct" */
    VkStructureType structure; /* to be chained to VkDeviceCreateInfo */
    size_t offset;             /* of the member in the structure */
    const char* extension;     /* to be enabled as well; "": none */
    const char* purpose;
} arm_vgf_feature;

/* The feature with this number, of a device that is not made yet, and how many there are. `feature`
   may be NULL. -1: programs cannot run on the device, or it has no such feature. */
ARM_VGF_EXPORT int arm_vgf_get_feature(VkInstance instance, VkPhysicalDevice physical,
                                       PFN_vkGetInstanceProcAddr get_proc_addr,
                                       uint32_t api_version, size_t index, arm_vgf_feature* feature,
                                       size_t* count);

/* The application's handles must live until the device and its programs are closed. */
ARM_VGF_EXPORT arm_vgf_adopted* arm_vgf_adopt(const arm_vgf_adopt_info* info);
ARM_VGF_EXPORT void arm_vgf_adopted_close(arm_vgf_adopted* device);

typedef struct arm_vgf_program arm_vgf_program;

typedef struct arm_vgf_program_options {
    size_t size;
    uint32_t frames_in_flight; /* 0: 2 */
    const char* sizes;         /* as in arm_vgf_options */
    VkPipelineCache pipeline_cache;
    const char* tune; /* as in arm_vgf_options; NULL: "off" */
} arm_vgf_program_options;

/* Loads a VGF, which may go away afterwards; it uses the device's queue meanwhile. `options` may be
   NULL. */
ARM_VGF_EXPORT arm_vgf_program* arm_vgf_program_open(const void* vgf, size_t bytes,
                                                     const arm_vgf_adopted* device,
                                                     const arm_vgf_program_options* options);
/* No command buffer with the program may be pending. */
ARM_VGF_EXPORT void arm_vgf_program_close(arm_vgf_program* program);

/* An input (output: `outputs` is 1), at its largest. `sizes` of it is NULL. */
ARM_VGF_EXPORT int arm_vgf_program_get_tensor(const arm_vgf_program* program, int outputs,
                                              size_t index, arm_vgf_tensor* tensor);

ARM_VGF_EXPORT int arm_vgf_program_bind_buffer(arm_vgf_program* program, uint32_t frame,
                                               const char* name, VkBuffer buffer,
                                               VkDeviceSize offset);

typedef struct arm_vgf_image {
    size_t size;
    VkImageView view;
    VkImageLayout layout;
    VkFormat format;
    uint32_t width;
    uint32_t height;
    int32_t
        channels_first; /* 1: the tensor is [1, channels, height, width]; 0: channels are last */
} arm_vgf_image;

ARM_VGF_EXPORT int arm_vgf_program_bind_image(arm_vgf_program* program, uint32_t frame,
                                              const char* name, const arm_vgf_image* image);

/* The push constants with this number, for what is recorded from now on. */
ARM_VGF_EXPORT int arm_vgf_program_set_push_constants(arm_vgf_program* program, size_t index,
                                                      const void* data, size_t bytes);

/* Records dispatches and barriers; submits nothing. */
ARM_VGF_EXPORT int arm_vgf_program_record(arm_vgf_program* program, VkCommandBuffer commands,
                                          uint32_t frame);

#ifdef __cplusplus
}
#endif

#endif /* ARM_VGF_VGF_C_H_ */
