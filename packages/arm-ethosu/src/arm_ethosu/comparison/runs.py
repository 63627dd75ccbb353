"""Kernels in a row that differ in addresses alone, by the same steps: a TRANSPOSE may have thousands of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..accelerators import Family
from ..schedule import registers as r
from ..schedule.footprints import Footprint, Part, footprint
from ..schedule.operations import Operation
from ..timing.commands import Command

_ADDRESSES = frozenset((r.IFM_BASE0, r.IFM2_BASE0, r.OFM_BASE0))


@dataclass
class Run:
    """One operation or several.

    Args:
        commands, operations: in order.
        first, second: what the first two do with memory; those behind go on in the same steps.
    """

    commands: list[Command]
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

    def takes(self, command: Command) -> bool:
        """Whether a command goes on with it, after which it is one of its own."""
        last = self.commands[-1]
        if (last.number, last.parameter) != (command.number, command.parameter) or command.number not in r.KERNELS:
            return False
        changed = {name for name, _ in last.registers.items() ^ command.registers.items()}
        if not changed <= _ADDRESSES:
            return False
        steps = {name: command.registers[name] - last.registers[name] for name in changed}
        if len(self.commands) > 1 and steps != self.steps:
            return False
        self.steps = steps
        return True


def runs(commands: Sequence[Command], family: Family) -> Iterator[Run]:
    """The commands in order, in runs."""
    run: Run | None = None
    for command in commands:
        op = Operation(command.index, command.number, command.parameter, command.registers)
        if run is not None and run.takes(command):
            run.commands.append(command)
            run.operations.append(op)
            continue
        if run is not None:
            yield run
        run = Run([command], [op], family)
    if run is not None:
        yield run
