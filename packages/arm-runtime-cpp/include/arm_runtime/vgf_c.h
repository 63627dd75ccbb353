/* Runs VGF programs, for C and ctypes; arm_runtime/vgf.hpp is the same for C++. */
#ifndef ARM_RUNTIME_VGF_C_H_
#define ARM_RUNTIME_VGF_C_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_VGF_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arm_vgf_session arm_vgf_session;

typedef struct arm_vgf_tensor {
    const char* name;
    const char* type; /* "bool", "int8", "float32", ... */
    const int64_t* shape;
    size_t rank;
    size_t bytes;
} arm_vgf_tensor;

typedef struct arm_vgf_argument {
    void* data;
    const char* type; /* as in arm_vgf_tensor, or "int64" for an int32 tensor */
    const int64_t* shape;
    size_t rank;
} arm_vgf_argument;

/* What went wrong in this thread's last call that failed. */
ARM_VGF_EXPORT const char* arm_vgf_last_error(void);

/* Loads a VGF of `size` bytes, which may go away afterwards, on a device that `device` names (part
   of its name, or its number; NULL: as ARM_VGF_DEVICE says, else the best). NULL: it failed. */
ARM_VGF_EXPORT arm_vgf_session* arm_vgf_open(const void* vgf, size_t size, const char* device);
ARM_VGF_EXPORT void arm_vgf_close(arm_vgf_session* session);

ARM_VGF_EXPORT const char* arm_vgf_device(const arm_vgf_session* session);
/* Bytes of inputs, outputs and work memory, and what sharing within the last saves. */
ARM_VGF_EXPORT void arm_vgf_memory(const arm_vgf_session* session, uint64_t bytes[4]);

/* The inputs (outputs: 1) of a program; `tensors` lives as long as the session. */
ARM_VGF_EXPORT size_t arm_vgf_tensors(const arm_vgf_session* session, int outputs,
                                      const arm_vgf_tensor** tensors);

/* Runs it once. 0, or -1: it failed. */
ARM_VGF_EXPORT int arm_vgf_run(arm_vgf_session* session, const arm_vgf_argument* inputs,
                               size_t input_count, const arm_vgf_argument* outputs,
                               size_t output_count);

typedef struct arm_vgf_event {
    const char* name; /* lives as long as the session */
    int32_t on_device;
    uint64_t begin; /* ns of CLOCK_MONOTONIC */
    uint64_t end;
} arm_vgf_event;

/* The events of the last run; from the first call on, runs note them. Valid until the next run. */
ARM_VGF_EXPORT size_t arm_vgf_profile(arm_vgf_session* session, const arm_vgf_event** events);

#ifdef __cplusplus
}
#endif

#endif
