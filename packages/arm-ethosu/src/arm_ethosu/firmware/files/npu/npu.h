/* The NPU as a model sees it. Exactly one of core_driver.c, functional_model.cpp and null.c implements this header;
   the CMake variable NPU chooses which. */
#ifndef NPU_H
#define NPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of the NPU. The memories are Vela's regions: 0 weights, 1 scratch, 2 fast scratch. */
typedef struct npu_job {
    const uint8_t *commands; /* the command stream, with the driver's header; aligned to 16 bytes */
    size_t commands_size;
    const uint8_t *weights; /* aligned to 16 bytes; NULL if weights_size is 0 */
    size_t weights_size;
    uint8_t *scratch; /* inputs, outputs and intermediate results; aligned to 16 bytes */
    size_t scratch_size;
    uint8_t *fast_scratch; /* NULL if fast_scratch_size is 0 */
    size_t fast_scratch_size;
} npu_job;

/* Runs a job and waits for its end. Returns 0, or another number if the NPU or its driver failed. */
int npu_run(const npu_job *job);

#ifdef __cplusplus
}
#endif

#endif
