"""The memory of each part of a firmware, and the fragment of a linker script that puts it there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .arena import arena_bytes
from .model import Model
from .templates import filled

#: A firmware's kinds of memory, by Vela's names for the areas of its memory modes.
_KINDS = {"OnChipFlash": "flash", "OffChipFlash": "flash", "Sram": "SRAM", "Dram": "DRAM"}
#: The sections of npu/model_memory.h.
_CONSTANTS, _ARENA = ".model_flash", ".model_sram"


def memory_map(models: Sequence[Model], linked: bool = True) -> list[tuple[str, str, int]]:
    """Part, memory and bytes; models that run one after the other share one arena, as large as the largest needs.

    The memory is where the fragment puts a part, and the one that Vela planned the NPU's reads and writes for.

    Args:
        linked: by the fragment; else by another linker script.
    """
    constants_in, arena_in = (kind if linked else "yours" for kind in (constants_kind(models), arena_kind(models)))
    out = []
    for model in models:
        planned = _planned_for(job.weights_in for job in model.jobs)
        for part, size in model.constant_bytes.items():
            if size:
                where = f"{constants_in} ({_CONSTANTS}){planned if part != 'constants' else ''}"
                out.append((f"{model.name}: {part}", where, size))
    arenas = _planned_for(job.scratch_in for model in models for job in model.jobs)
    out.append(("arena", f"{arena_in} ({_ARENA}){arenas}", arena_bytes(models)))
    return out


def constants_kind(models: Sequence[Model]) -> str:
    """The memory for commands and weights: flash, unless every model's mode has them in another memory."""
    kinds = {_KINDS.get(job.weights_in, "flash") for model in models for job in model.jobs}
    return kinds.pop() if len(kinds) == 1 else "flash"


def arena_kind(models: Sequence[Model]) -> str:
    """The memory for the arena: SRAM, unless every model's mode has it in DRAM and none has a cache, which is a
    part of the arena."""
    jobs = [job for model in models for job in model.jobs]
    slow = all(job.scratch_in == "Dram" and not job.fast_scratch for job in jobs)
    return "DRAM" if slow else "SRAM"


def linker_fragment(models: Sequence[Model]) -> str:
    """models.ld, for GNU's and LLVM's linkers."""
    kind = constants_kind(models)
    rows = memory_map(models)
    widths = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    region = f"MODEL_{kind.upper()}"
    return filled(
        "model/models.ld.in",
        {
            "table": "\n".join(f"   {part:{widths[0]}}  {where:{widths[1]}}  {size:>8}" for part, where, size in rows),
            "constants": region if kind == "flash" else f"{region} AT > MODEL_FLASH",
        },
        arena=f"MODEL_{arena_kind(models)}",
    )


def _planned_for(memories: Iterable[str]) -> str:
    names = sorted({memory for memory in memories if memory})
    return f", planned for {' and '.join(names)}" if names else ""
