/* The NPU through Arm's core driver (ethos-u-core-driver 0.16 or later). The board calls ethosu_init() before the first
   run. */
#include "npu.h"

#include <ethosu_driver.h>

#include "npu_hooks.h"

#define REGIONS 3

#ifdef NPU_PROFILE
#include <pmu_ethosu.h>

/* The driver calls these when the NPU has power, before and after it runs. */
void ethosu_inference_begin(struct ethosu_driver *driver, void *user) {
    (void)user;
    ETHOSU_PMU_Enable(driver);
    ETHOSU_PMU_CYCCNT_Reset(driver);
    ETHOSU_PMU_CNTR_Enable(driver, ETHOSU_PMU_CCNT_Msk);
}

void ethosu_inference_end(struct ethosu_driver *driver, void *user) {
    const uint64_t cycles = ETHOSU_PMU_Get_CCNTR(driver);

    (void)user;
    ETHOSU_PMU_Disable(driver);
    npu_profiled(cycles);
}
#endif

/* Caches: nothing else of the program runs during a job. So lines that are clean before it are clean after it, and
   forgetting them loses nothing, not even what shares a line with the NPU's memory. */
#ifndef NPU_CACHE
#define npu_cache_clean(memory, bytes) ((void)0)
#define npu_cache_invalidate(memory, bytes) ((void)0)
#endif

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
    npu_cache_clean(job->scratch, job->scratch_size);
    npu_cache_clean(job->fast_scratch, job->fast_scratch_size);
    status = ethosu_invoke_v3(driver, job->commands, (int)job->commands_size, addresses, sizes, REGIONS, NULL);
    npu_cache_invalidate(job->scratch, job->scratch_size);
    npu_cache_invalidate(job->fast_scratch, job->fast_scratch_size);
    ethosu_release_driver(driver);
    return status;
}
