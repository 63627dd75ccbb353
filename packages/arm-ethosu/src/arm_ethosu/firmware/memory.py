"""What of a firmware lies in which memory."""

from __future__ import annotations

from collections.abc import Sequence

from .library import arena_size, data_sizes
from .model import Model

#: The sections of npu/model_memory.h, as users call them.
FLASH, SRAM = "flash (.model_flash)", "SRAM (.model_sram)"


def memory_map(models: Sequence[Model]) -> list[tuple[str, str, int]]:
    """Part, memory and bytes; models that run one after the other share one arena, as large as the largest needs."""
    out = []
    for model in models:
        sizes = data_sizes(model)
        out += [(f"{model.name}: {part}", FLASH, size) for part, size in sizes.items() if size]
    out.append(("arena", SRAM, max(map(arena_size, models))))
    return out
