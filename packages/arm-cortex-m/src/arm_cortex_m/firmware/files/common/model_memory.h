/* Where the parts of a model lie: sections that the board's linker script places. Define these macros for a compiler or a
   board of another kind. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

/* Zephyr's linker scripts place these. */
#if defined(__ZEPHYR__)
#define MODEL_FLASH_SECTION ".rodata.model_flash"
#define MODEL_SRAM_SECTION ".noinit.model_sram"
#else
#define MODEL_FLASH_SECTION ".model_flash"
#define MODEL_SRAM_SECTION ".model_sram"
#endif

/* Command streams and weights: constants, read by the NPU. */
#ifndef MODEL_FLASH
#define MODEL_FLASH __attribute__((section(MODEL_FLASH_SECTION), aligned(16)))
#endif

/* Arenas: read and written by the NPU, without contents before the first run. Aligned to a line of the data cache. */
#ifndef MODEL_SRAM
#define MODEL_SRAM __attribute__((section(MODEL_SRAM_SECTION), aligned(32)))
#endif

#endif
