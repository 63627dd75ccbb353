/* The Ethos-U functional model for C and ctypes, with threads and workspace of its own. */
#ifndef ARM_RUNTIME_ETHOSU_MODEL_C_H_
#define ARM_RUNTIME_ETHOSU_MODEL_C_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_ETHOSU_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* As arm_runtime::EthosURegion. */
typedef struct arm_ethosu_region {
    uint8_t* data;
    uint64_t size;
    uint8_t* written; /* NULL: every byte counts as written */
    int32_t read_only;
} arm_ethosu_region;

/* Runs the payload `command_stream` (Vela's cmd_data) of `size` bytes.
   family: 55, 65 or 85. macs: 32 to 2048. regions: region_count of them, 8 at most; region i has
   number i. threads: cores to use. workspace_limit: bytes of memory that the model may take for
   itself. message: takes the text of a fault, cut to message_size with its 0. Returns 0, or
   arm_runtime::EthosUFaultCode as a number, or -1 for arguments that make no sense, or -2 if that
   limit, or memory, is not enough. */
ARM_ETHOSU_EXPORT int arm_ethosu_model_run(const uint8_t* command_stream, uint64_t size,
                                           uint32_t family, uint32_t macs,
                                           const arm_ethosu_region* regions, uint32_t region_count,
                                           uint32_t threads, uint64_t workspace_limit,
                                           char* message, uint64_t message_size);

/* Decodes a stream of weights of Ethos-U55/U65 to `weights`, `capacity` at most.
   Returns how many the stream has, or -1 if it is malformed. */
ARM_ETHOSU_EXPORT int64_t arm_ethosu_decode_weights(const uint8_t* stream, uint64_t size,
                                                    int16_t* weights, uint64_t capacity);

#ifdef __cplusplus
}
#endif

#endif
