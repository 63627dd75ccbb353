"""The memory of a firmware: the plan of a model's arena, and the fragment of a linker script that places each part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .c_text import filled
from .model import ALIGNMENT, Called, Job, Model, Operator, Value

#: Bytes: a line of the data cache of Cortex-M55 and M85, so that no variable shares a line with an arena.
ARENA_ALIGNMENT = 32


@dataclass(frozen=True)
class _Buffer:
    """Bytes that are in use from one step to another, both included; in several such spans, in order."""

    owner: Value | Job | Called
    fast: bool
    size: int
    spans: tuple[tuple[int, int], ...]

    @cached_property
    def first(self) -> int:
        return self.spans[0][0]

    @cached_property
    def last(self) -> int:
        return self.spans[-1][1]

    def meets(self, other: _Buffer) -> bool:
        """Whether both are in use at some step: one between the first and last of the other, as the caller knows."""
        if len(self.spans) == len(other.spans) == 1:
            return True
        mine, others = iter(self.spans), iter(other.spans)
        one, two = next(mine), next(others)
        while one[1] < two[0] or two[1] < one[0]:
            ended = one[1] < two[1]
            following = next(mine if ended else others, None)
            if following is None:
                return False
            one, two = (following, two) if ended else (one, following)
        return True


def arena_bytes(models: Sequence[Model]) -> int:
    """Bytes of an arena that models share: those of the largest, since models run one after the other."""
    return max(Arena(model).size for model in models)


class Arena:
    """A plan of the arena: values that are not in use at the same time may lie in the same place.

    Args:
        size: bytes.
        values: in the arena, in the order in which steps make them, and their offsets. Inputs, outputs
            and constants lie elsewhere; parts of values with the whole.
        spans: of these values, the first and last step of each time that they are in use.
    """

    def __init__(self, model: Model) -> None:
        offsets = _placed(list(_buffers(model)))
        self.spans = {buffer.owner: buffer.spans for buffer in offsets if isinstance(buffer.owner, Value)}
        ends = [buffer.size + at for buffer, at in offsets.items()]
        self.size = aligned(max(ends, default=1), ARENA_ALIGNMENT)  # C has no arrays of no elements
        self.values = {
            buffer.owner: at
            for buffer, at in sorted(offsets.items(), key=lambda item: item[0].first)
            if isinstance(buffer.owner, Value)
        }
        self._scratch: dict[tuple[Value | Job | Called | Operator, bool], int] = {
            (buffer.owner, buffer.fast): at for buffer, at in offsets.items() if not isinstance(buffer.owner, Value)
        }
        for number, times in _repeated(model).items():
            first = model.steps[times.start], False
            if first in self._scratch:
                self._scratch[model.steps[number], False] = self._scratch[first]

    def scratch(self, step: Job | Called) -> int:
        """Offset of the memory that a step works in."""
        return self._scratch[step, False]

    def fast_scratch(self, job: Job) -> int:
        """Offset of the NPU's second memory."""
        return self._scratch[job, True]


def _buffers(model: Model) -> Iterator[_Buffer]:
    spans: dict[Value, list[list[int]]] = {}
    repeated = _repeated(model)
    for number, step in enumerate(model.steps):
        if isinstance(step, Job):
            yield _Buffer(step, False, step.scratch, ((number, number),))
            if step.fast_scratch:
                yield _Buffer(step, True, step.fast_scratch, ((number, number),))
        elif isinstance(step, Called) and step.scratch:
            times = repeated.get(number, range(number, number + 1))
            if number == times.start:  # of all times one
                yield _Buffer(step, False, step.scratch, tuple((time, time) for time in times))
        for value in step.reads:
            if value.root in spans:
                spans[value.root][-1][1] = number
        for value in step.makes:
            if value.root not in spans or value.inside is None:  # nothing of it is of use before
                spans.setdefault(value.root, []).append([number, number])
            spans[value.root][-1][1] = number
    for value in model.given:
        if value.root in spans:  # it is copied behind the last step, if it is a part
            spans[value.root][-1][1] = len(model.steps)
    for value, each in spans.items():
        if value not in model.given:
            yield _Buffer(value, False, value.size, tuple((first, last) for first, last in each))


def _repeated(model: Model) -> dict[int, range]:
    """Of each step of a loop, the steps that it stands for, one each time."""
    positions = [(loop, position) for loop in model.loops for position in range(loop.period)]
    return {number: loop.each_time(position) for loop, position in positions for number in loop.each_time(position)}


def _placed(buffers: list[_Buffer]) -> dict[_Buffer, int]:
    """The largest first, each at the lowest offset where it meets none that is in use at the same time."""
    placed: dict[_Buffer, int] = {}
    for buffer in sorted(buffers, key=lambda each: (-each.size, each.first)):
        at = 0
        first, last = buffer.first, buffer.last
        rivals = [each for each in placed if each.first <= last and first <= each.last and each.meets(buffer)]
        for rival in sorted(rivals, key=placed.__getitem__):
            if placed[rival] >= at + buffer.size:
                break
            at = max(at, aligned(placed[rival] + rival.size, ALIGNMENT))
        placed[buffer] = at
    return placed


def aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


#: A firmware's kinds of memory, by Vela's names for the areas of its memory modes.
_KINDS = {"OnChipFlash": "flash", "OffChipFlash": "flash", "Sram": "SRAM", "Dram": "DRAM"}
#: The sections of common/model_memory.h.
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
    slow = bool(jobs) and all(job.scratch_in == "Dram" and not job.fast_scratch for job in jobs)
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
