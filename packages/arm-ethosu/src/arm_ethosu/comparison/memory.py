"""Whether all that a program reads is there: inside of its memory, and written before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.footprints import Footprint, Part, footprint
from ..command_stream.operations import Operation, UnreadableStream
from ..vela import Arrays
from .debug_database import Lifetimes, Owned
from .difference import Difference

Written = np.ndarray[tuple[int], np.dtype[np.bool_]]


def memory_difference(
    arrays: Arrays, operations: Sequence[Operation], kernels: Sequence[Owned], lifetimes: Lifetimes, family: Family
) -> Difference | None:
    """The first command that leaves its memory, or reads what nobody wrote."""
    memory = _Memory(arrays)
    owners = {id(each.command): each.op for each in kernels}
    try:
        for run in runs(operations, family):
            memory.forget(lifetimes.ended_before(run.operations[0]))
            if len(run.operations) == 1 or memory.step(run.operations[0], run.together()):
                for op in run.operations:
                    if fault := memory.step(op, footprint(op, family)):
                        return Difference(owners.get(id(op)), *fault)
    except UnreadableStream:
        return None  # a mode whose reads are not known
    return memory.results(arrays)


class _Memory:
    """Which bytes of each region hold something."""

    def __init__(self, arrays: Arrays) -> None:
        self.written: dict[int, Written] = {
            r.CONSTANTS: np.ones(arrays["weight_data"].size, np.bool_),
            r.SCRATCH: np.zeros(arrays["scratch_size"].item(), np.bool_),
        }
        for region, first, end in _tensors(arrays, "input"):
            self._region(region, end)[first:end] = True

    def forget(self, places: Iterable[tuple[int, int]]) -> None:
        """Takes bytes of the scratch memory for not written."""
        for first, end in places:
            self.written[r.SCRATCH][first:end] = False

    def step(self, op: Operation, effect: Footprint) -> tuple[str, str, str] | None:
        """What is wrong with an operation, as of ``Difference``."""
        for part in (*effect.reads, *effect.writes):
            first, end = part.bounds
            size = len(self._region(part.region, end))
            if first < 0 or end > size:
                return "reaches bytes", f"{first} to {end} of region {part.region}", f"0 to {size}"
        if any(part.region == r.CONSTANTS for part in effect.writes):
            return "writes to", "the constants", "the memory of tensors"
        if op.is_transfer:
            self._copy(op, effect)
            return None
        for part in effect.reads:
            if not (there := self._of(part)).all():
                missing = there.size - np.count_nonzero(there)
                return "reads so many bytes that nobody wrote:", f"{missing} of {there.size}", "0"
        for part in effect.writes:
            self._of(part)[...] = True
        return None

    def results(self, arrays: Arrays) -> Difference | None:
        """What of the results nobody wrote."""
        for number, (region, first, end) in enumerate(_tensors(arrays, "output")):
            there = self._region(region, end)[first:end]
            if not there.all():
                missing = there.size - np.count_nonzero(there)
                return Difference(None, f"output {number} has so many bytes that nobody wrote:", f"{missing}", "0")
        return None

    def _copy(self, op: Operation, effect: Footprint) -> None:
        """Copies are of whole 16 bytes, so that what lies behind a tensor may be copied too."""
        plain = len(effect.reads) == len(effect.writes) == 1 and effect.exact
        if plain and effect.reads[0].counts == effect.writes[0].counts:
            self._of(effect.writes[0])[...] = self._of(effect.reads[0]).copy()
        else:
            for part in effect.writes:
                self._of(part)[...] = True

    def _of(self, part: Part) -> Written:
        return part.of(self.written[part.region])

    def _region(self, number: int, end: int) -> Written:
        """The bytes of a region; of a cache, whose size the payload does not say, those up to ``end`` at least."""
        known = self.written.get(number, np.zeros(0, np.bool_))
        if number not in (r.CONSTANTS, r.SCRATCH) and len(known) < end:
            known = self.written[number] = np.concatenate([known, np.zeros(end - len(known), np.bool_)])
        return known


def _tensors(arrays: Arrays, direction: str) -> list[tuple[int, int, int]]:
    """Region, first byte and end of each input or output."""
    columns = (arrays[f"{direction}_{key}"] for key in ("shape", "elem_size", "offset", "region"))
    return [
        (int(region), int(offset), int(offset) + int(np.prod(shape)) * int(size))
        for shape, size, offset, region in zip(*columns, strict=True)
    ]


_ADDRESSES = frozenset((r.IFM_BASE0, r.IFM2_BASE0, r.OFM_BASE0))


@dataclass
class Run:
    """Kernels in a row that differ in addresses alone, by the same steps: a TRANSPOSE may have thousands of them.

    Args:
        steps: of the addresses, from each operation to the next.
    """

    operations: list[Operation]
    family: Family
    steps: Mapping[int, int] = field(default_factory=dict)

    def together(self) -> Footprint:
        """What all of them do with memory, as if they were one."""
        first, second = (footprint(op, self.family) for op in self.operations[:2])
        return Footprint(self._joined(first.reads, second.reads), self._joined(first.writes, second.writes))

    def _joined(self, first: Sequence[Part], second: Sequence[Part]) -> tuple[Part, ...]:
        count = len(self.operations)
        return tuple(
            Part(one.region, one.base, (count, *one.counts), (other.base - one.base, *one.steps))
            for one, other in zip(first, second, strict=True)
        )

    def takes(self, op: Operation) -> bool:
        """Whether an operation goes on with it, after which it is one of its own."""
        last = self.operations[-1]
        if (last.code, last.parameter) != (op.code, op.parameter) or not op.is_kernel:
            return False
        changed = {name for name, _ in last.registers.items() ^ op.registers.items()}
        if not changed <= _ADDRESSES:
            return False
        steps = {name: op.registers[name] - last.registers[name] for name in changed}
        if len(self.operations) > 1 and steps != self.steps:
            return False
        self.steps = steps
        self.operations.append(op)
        return True


def runs(operations: Sequence[Operation], family: Family) -> Iterator[Run]:
    """The operations in order, in runs."""
    run: Run | None = None
    for op in operations:
        if run is not None and run.takes(op):
            continue
        if run is not None:
            yield run
        run = Run([op], family)
    if run is not None:
        yield run
