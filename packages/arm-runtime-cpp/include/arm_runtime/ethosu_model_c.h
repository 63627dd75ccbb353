/* The Ethos-U functional model for C and ctypes, with threads and workspace of its own.

   Structures, versions and errors are as in vgf_c.h: a structure begins with its size, which the
   caller sets to sizeof; calls return 0, or -1 after an error, whose text is the thread's. Several
   threads may call at once. */
#ifndef ARM_RUNTIME_ETHOSU_MODEL_C_H_
#define ARM_RUNTIME_ETHOSU_MODEL_C_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_ETHOSU_EXPORT __attribute__((visibility("default")))

/* Changes when a call or a structure's member changes its meaning; new ones may come without. */
#define ARM_ETHOSU_MODEL_API_VERSION 1 /* NOLINT(modernize-macro-to-enum): for #if */

#ifdef __cplusplus
extern "C" {
#endif

/* ARM_ETHOSU_MODEL_API_VERSION of the library. */
ARM_ETHOSU_EXPORT uint32_t arm_ethosu_model_api_version(void);

/* What went wrong in this thread's last call that failed; see arm_vgf_last_error. */
ARM_ETHOSU_EXPORT const char* arm_ethosu_model_last_error(void);

typedef struct arm_ethosu_program {
    size_t size;
    const uint8_t* command_stream; /* Vela's cmd_data */
    size_t bytes;
    uint32_t family;          /* 55, 65 or 85 */
    uint32_t macs;            /* 32 to 2048 */
    uint32_t threads;         /* cores to use; 0: one */
    uint64_t workspace_limit; /* bytes of memory that the model may take for itself */
} arm_ethosu_program;

/* As arm_runtime::EthosURegion. */
typedef struct arm_ethosu_region {
    size_t size; /* sizeof(arm_ethosu_region), not the size of the data */
    uint8_t* data;
    size_t bytes;
    uint8_t* written; /* NULL: every byte counts as written */
    int32_t read_only;
} arm_ethosu_region;

/* Runs a program. Region i of the array has number i; there are 8 at most, all with the `size` of
   the first. `fault`, which may be NULL, takes arm_runtime::EthosUFaultCode as a number: 0 if the
   program did not stop with a fault, or if it did not start. 0, or -1: it failed. */
ARM_ETHOSU_EXPORT int arm_ethosu_model_run(const arm_ethosu_program* program,
                                           const arm_ethosu_region* regions, size_t region_count,
                                           int32_t* fault);

/* Decodes a stream of weights of Ethos-U55/U65 to `weights`, `capacity` at most. `count` takes how
   many the stream has. 0, or -1: the stream is malformed. */
ARM_ETHOSU_EXPORT int arm_ethosu_model_decode_weights(const uint8_t* stream, size_t bytes,
                                                      int16_t* weights, size_t capacity,
                                                      size_t* count);

#ifdef __cplusplus
}
#endif

#endif
