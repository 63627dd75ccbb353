/* The NPU through Arm's core driver (ethos-u-core-driver 0.16 or later). The board calls ethosu_init() before the first
   run. */
#include "npu.h"

#include <ethosu_driver.h>

#define REGIONS 3

static uint64_t address_of(const void *memory) { return (uint64_t)(uintptr_t)memory; }

int npu_run(const npu_job *job) {
    uint64_t addresses[REGIONS];
    size_t sizes[REGIONS];
    struct ethosu_driver *driver = ethosu_reserve_driver();
    int status;

    if (driver == NULL) {
        return 1;
    }
    addresses[0] = address_of(job->weights);
    addresses[1] = address_of(job->scratch);
    addresses[2] = address_of(job->fast_scratch);
    sizes[0] = job->weights_size;
    sizes[1] = job->scratch_size;
    sizes[2] = job->fast_scratch_size;
    status = ethosu_invoke_v3(driver, job->commands, (int)job->commands_size, addresses, sizes, REGIONS, NULL);
    ethosu_release_driver(driver);
    return status;
}
