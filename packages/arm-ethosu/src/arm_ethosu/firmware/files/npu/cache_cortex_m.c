/* Data cache maintenance of Cortex-M55, M85 and M7, by address (Armv8-M Architecture Reference Manual, "Cache maintenance
   operations"). */
#include "npu_hooks.h"

#define DCIMVAC (*(volatile uint32_t *)0xE000EF5Cu) /* invalidates a line */
#define DCCMVAC (*(volatile uint32_t *)0xE000EF68u) /* cleans a line */
#define LINE 32u                                    /* bytes, in all of these cores */

static void for_each_line(volatile uint32_t *operation, const void *memory, size_t bytes) {
    const uintptr_t end = (uintptr_t)memory + bytes;

    __asm volatile("dsb" ::: "memory");
    for (uintptr_t line = (uintptr_t)memory & ~(uintptr_t)(LINE - 1u); line < end; line += LINE) {
        *operation = (uint32_t)line;
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

__attribute__((weak)) void npu_cache_clean(const void *memory, size_t bytes) { for_each_line(&DCCMVAC, memory, bytes); }

__attribute__((weak)) void npu_cache_invalidate(void *memory, size_t bytes) { for_each_line(&DCIMVAC, memory, bytes); }
