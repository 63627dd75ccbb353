/* Payloads of the delegate EthosUBackend, for C and ctypes, without ExecuTorch. */
#ifndef ARM_RUNTIME_ETHOSU_PAYLOAD_C_H_
#define ARM_RUNTIME_ETHOSU_PAYLOAD_C_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One tensor's elements, row-major, `size` bytes. */
typedef struct arm_ethosu_buffer {
    void* data;
    uint64_t size;
} arm_ethosu_buffer;

/* Runs a payload once, as the delegate does, on the driver that a .pte would run on here.
   inputs, outputs: all of the payload's, of its sizes; outputs are written to.
   message: takes the error, cut to message_size with its 0. Returns 0, or 1 with a message. */
__attribute__((visibility("default"))) int arm_ethosu_payload_run(
    const uint8_t* payload, uint64_t size, const arm_ethosu_buffer* inputs, uint32_t input_count,
    const arm_ethosu_buffer* outputs, uint32_t output_count, char* message, uint64_t message_size);

/* Says how many outputs a payload has (count), and of the first `capacity` how many bytes each and
   each of its elements has. Returns as above. */
__attribute__((visibility("default"))) int arm_ethosu_payload_outputs(
    const uint8_t* payload, uint64_t size, uint64_t* sizes, uint32_t* element_sizes,
    uint32_t capacity, uint32_t* count, char* message, uint64_t message_size);

#ifdef __cplusplus
}
#endif

#endif
