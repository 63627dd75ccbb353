"""What of a firmware lies in which memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .arena import arena_bytes
from .model import Model

#: The sections of npu/model_memory.h, as users call them.
FLASH, SRAM = "flash (.model_flash)", "SRAM (.model_sram)"


def memory_map(models: Sequence[Model]) -> list[tuple[str, str, int]]:
    """Part, memory and bytes; models that run one after the other share one arena, as large as the largest needs.

    Where the linker script puts a part, and the memory that Vela planned the NPU's reads and writes for.
    """
    out = []
    for model in models:
        planned = _planned_for(job.weights_in for job in model.jobs)
        for part, size in model.constant_bytes.items():
            if size:
                out.append((f"{model.name}: {part}", FLASH + (planned if part != "constants" else ""), size))
    arenas = _planned_for(job.scratch_in for model in models for job in model.jobs)
    out.append(("arena", SRAM + arenas, arena_bytes(models)))
    return out


def _planned_for(memories: Iterable[str]) -> str:
    names = sorted({memory for memory in memories if memory})
    return f", planned for {' and '.join(names)}" if names else ""
