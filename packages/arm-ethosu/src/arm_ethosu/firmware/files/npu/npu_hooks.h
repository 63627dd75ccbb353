/* What a program may define to look on, or must define for its core, where Arm's core driver runs the NPU. */
#ifndef NPU_HOOKS_H
#define NPU_HOOKS_H

#include <stddef.h>
#include <stdint.h>

/* With the CMake option NPU_PROFILE: called after each job with the cycles that the NPU's counter (PMU) counted. */
void npu_profiled(uint64_t cycles);

/* With the CMake option NPU_CACHE, for cores with a data cache. cache_cortex_m.c has both for Cortex-M; a program that
   defines them itself has the last word.

   Before a job: writes back what the cache holds of a memory, so that the NPU sees it. */
void npu_cache_clean(const void *memory, size_t bytes);
/* After a job: forgets what the cache holds of a memory, so that the processor sees what the NPU wrote. */
void npu_cache_invalidate(void *memory, size_t bytes);

#endif
