"""What of a firmware lies in which memory."""

from __future__ import annotations

from collections.abc import Sequence

from .arena import arena_bytes
from .model import Model

#: The sections of npu/model_memory.h, as users call them.
FLASH, SRAM = "flash (.model_flash)", "SRAM (.model_sram)"


def memory_map(models: Sequence[Model]) -> list[tuple[str, str, int]]:
    """Part, memory and bytes; models that run one after the other share one arena, as large as the largest needs."""
    out = []
    for model in models:
        out += [(f"{model.name}: {part}", FLASH, size) for part, size in model.constant_bytes.items() if size]
    out.append(("arena", SRAM, arena_bytes(models)))
    return out
