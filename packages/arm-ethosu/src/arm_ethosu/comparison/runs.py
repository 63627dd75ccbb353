"""Kernels in a row that differ in addresses alone, by the same steps: a TRANSPOSE may have thousands of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.footprints import Footprint, Part, footprint
from ..command_stream.operations import Operation

_ADDRESSES = frozenset((r.IFM_BASE0, r.IFM2_BASE0, r.OFM_BASE0))


@dataclass
class Run:
    """One operation or several.

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
