"""The plan of a model's arena: places of the NPU's memories and of values between steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .model import ALIGNMENT, Job, Model, Value

#: Bytes: a line of the data cache of Cortex-M55 and M85, so that no variable shares a line with an arena.
ARENA_ALIGNMENT = 32


@dataclass(frozen=True)
class _Buffer:
    """Bytes that are in use from one step to another, both included."""

    owner: Value | Job
    fast: bool
    size: int
    first: int
    last: int


def arena_bytes(models: Sequence[Model]) -> int:
    """Bytes of an arena that models share: those of the largest, since models run one after the other."""
    return max(Arena(model).size for model in models)


class Arena:
    """A plan of the arena: values that are not in use at the same time may lie in the same place.

    Args:
        size: bytes.
        values: in the arena, in the order in which steps make them, and their offsets. Inputs, outputs
            and constants lie elsewhere.
    """

    def __init__(self, model: Model) -> None:
        offsets = _placed(list(_buffers(model)))
        ends = [buffer.size + at for buffer, at in offsets.items()]
        self.size = _aligned(max(ends), ARENA_ALIGNMENT)
        self.values = {
            buffer.owner: at
            for buffer, at in sorted(offsets.items(), key=lambda item: item[0].first)
            if isinstance(buffer.owner, Value)
        }
        self._jobs = {
            (buffer.owner, buffer.fast): at for buffer, at in offsets.items() if isinstance(buffer.owner, Job)
        }

    def scratch(self, job: Job) -> int:
        """Offset of the NPU's memory."""
        return self._jobs[job, False]

    def fast_scratch(self, job: Job) -> int:
        """Offset of the NPU's second memory."""
        return self._jobs[job, True]


def _buffers(model: Model) -> Iterator[_Buffer]:
    produced: dict[Value, int] = {}
    read: dict[Value, int] = {}
    for number, step in enumerate(model.steps):
        if isinstance(step, Job):
            yield _Buffer(step, False, step.scratch, number, number)
            if step.fast_scratch:
                yield _Buffer(step, True, step.fast_scratch, number, number)
        read.update(dict.fromkeys(step.reads, number))
        produced.update(dict.fromkeys(step.makes, number))
    for value, number in produced.items():
        if value not in model.given:
            yield _Buffer(value, False, value.size, number, read.get(value, number))


def _placed(buffers: list[_Buffer]) -> dict[_Buffer, int]:
    """The largest first, each at the lowest offset where it meets none that is in use at the same time."""
    placed: dict[_Buffer, int] = {}
    for buffer in sorted(buffers, key=lambda each: (-each.size, each.first)):
        at = 0
        rivals = [rival for rival in placed if rival.first <= buffer.last and buffer.first <= rival.last]
        for rival in sorted(rivals, key=placed.__getitem__):
            if placed[rival] >= at + buffer.size:
                break
            at = max(at, _aligned(placed[rival] + rival.size, ALIGNMENT))
        placed[buffer] = at
    return placed


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
