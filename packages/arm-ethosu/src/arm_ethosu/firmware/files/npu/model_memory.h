/* Where the parts of a model lie: sections that the board's linker script places. Define these macros for a compiler or a
   board of another kind. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

/* Command streams and weights: constants, read by the NPU. */
#ifndef MODEL_FLASH
#define MODEL_FLASH __attribute__((section(".model_flash"), aligned(16)))
#endif

/* Arenas: read and written by the NPU, without contents before the first run. Aligned to a line of the data cache. */
#ifndef MODEL_SRAM
#define MODEL_SRAM __attribute__((section(".model_sram"), aligned(32)))
#endif

#endif
