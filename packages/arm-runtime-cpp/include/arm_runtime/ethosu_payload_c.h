/* Payloads of the delegate EthosUBackend, for C and ctypes, without ExecuTorch.

   Structures, versions and errors are as in vgf_c.h: a structure begins with its size, which the
   caller sets to sizeof; calls return 0, or -1 after an error, whose text is the thread's. Several
   threads may call at once. */
#ifndef ARM_RUNTIME_ETHOSU_PAYLOAD_C_H_
#define ARM_RUNTIME_ETHOSU_PAYLOAD_C_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_ETHOSU_PAYLOAD_EXPORT __attribute__((visibility("default")))

/* Changes when a call or a structure's member changes its meaning; new ones may come without. */
#define ARM_ETHOSU_PAYLOAD_API_VERSION 1 /* NOLINT(modernize-macro-to-enum): for #if */

#ifdef __cplusplus
extern "C" {
#endif

/* ARM_ETHOSU_PAYLOAD_API_VERSION of the library. */
ARM_ETHOSU_PAYLOAD_EXPORT uint32_t arm_ethosu_payload_api_version(void);

/* What went wrong in this thread's last call that failed; see arm_vgf_last_error. */
ARM_ETHOSU_PAYLOAD_EXPORT const char* arm_ethosu_payload_last_error(void);

typedef struct arm_ethosu_buffer {
    size_t size;  /* sizeof(arm_ethosu_buffer), not the size of the data */
    void* data;   /* a tensor's elements, row-major; inputs are only read */
    size_t bytes; /* as many as the payload says */
} arm_ethosu_buffer;

/* Runs a payload of `bytes` bytes once, as the delegate does, on the driver that a .pte would run
   on here. inputs, outputs: all of the payload's, each array with the `size` of its first element.
   0, or -1: it failed. */
ARM_ETHOSU_PAYLOAD_EXPORT int arm_ethosu_payload_run(const uint8_t* payload, size_t bytes,
                                                     const arm_ethosu_buffer* inputs,
                                                     size_t input_count,
                                                     const arm_ethosu_buffer* outputs,
                                                     size_t output_count);

typedef struct arm_ethosu_output {
    size_t size;
    size_t bytes;
    uint32_t element_bytes;
} arm_ethosu_output;

/* Fills in what a payload says of its outputs, the first `capacity` of them; all elements of the
   array have the `size` of the first. `count` takes how many there are. 0, or -1: it failed. */
ARM_ETHOSU_PAYLOAD_EXPORT int arm_ethosu_payload_get_outputs(const uint8_t* payload, size_t bytes,
                                                             arm_ethosu_output* outputs,
                                                             size_t capacity, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
