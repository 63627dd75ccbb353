"""Kernels and transfers that may be unfinished when an operation begins, and whether they get into its way.

Kernels are in order among themselves. Transfers run beside kernels and beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from ..accelerators import Family
from . import registers as r
from .footprints import Footprint, Part, footprint
from .hardware import KERNELS_IN_FLIGHT, TRANSFERS_IN_FLIGHT
from .operations import Operation
from .tables import TABLE_MEMORY, brings_a_table, table_of

T = TypeVar("T")
_ON_CHIP = 8  # stands for a region: the memory of tables on the chip


class Flight(Generic[T]):
    """The newest kernels and transfers, those that nobody waited for, each with a note about it."""

    def __init__(self, family: Family) -> None:
        self._u85 = family == "u85"
        self._most = {r.KERNEL_WAIT: KERNELS_IN_FLIGHT, r.DMA_WAIT: TRANSFERS_IN_FLIGHT[family]}
        #: By the command that waits for them, oldest first; kernels that run as one are together.
        self.running: dict[int, list[list[T]]] = {r.KERNEL_WAIT: [], r.DMA_WAIT: []}
        self.goes_on = False

    def beside(self, op: Operation, is_one: Callable[[T], bool]) -> list[tuple[int, int]]:
        """Waits for those of a kind that may still run beside an operation.

        Args:
            op: a kernel or transfer that begins next.
            is_one: whether a note is of such an operation.

        Returns:
            The command that waits, and how many it leaves running; none where there is no such operation.
        """
        others = {r.DMA_WAIT: self.running[r.DMA_WAIT]}
        if op.is_transfer:
            full = max(len(others[r.DMA_WAIT]) + 1 - self._most[r.DMA_WAIT], 0)  # so many end before it begins
            others = {r.DMA_WAIT: others[r.DMA_WAIT][full:], r.KERNEL_WAIT: self.running[r.KERNEL_WAIT]}
        return [
            (kind, newer)
            for kind, groups in others.items()
            for newer in [next((n for n, group in enumerate(reversed(groups)) if any(map(is_one, group))), None)]
            if newer is not None
        ]

    def begin(self, op: Operation, note: T) -> None:
        """Takes a kernel or transfer for begun."""
        kind = r.KERNEL_WAIT if op.is_kernel else r.DMA_WAIT
        mine = self.running[kind]
        if op.is_kernel and self.goes_on:
            mine[-1].append(note)
        else:
            mine.append([note])
            del mine[: -self._most[kind]]
        self.goes_on = op.goes_on(self._u85)

    def wait(self, kind: int, left: int) -> None:
        """Leaves so many of a kind, the newest."""
        self.running[kind] = self.running[kind][-left:] if left else []


def in_the_way(one: Footprint, other: Footprint) -> bool:
    """Whether one writes what the other reads or writes; gaps in what they touch count, as they do for Vela."""
    return _meet(one.written, (*other.read, *other.written)) or _meet(one.read, other.written)


def footprint_and_tables(op: Operation, family: Family) -> Footprint:
    """What an operation reads and writes in regions, and of the tables on the chip.

    Raises:
        UnreadableStream: a mode that is not known here.
    """
    made = footprint(op, family)
    if brings_a_table(op):
        target = Part(_ON_CHIP, op.address(r.DMA0_DST) % TABLE_MEMORY, (op.address(r.DMA0_LEN),), (1,))
        return replace(made, writes=(*made.writes, target))
    if op.is_kernel and (place := table_of(op, family)):
        return replace(made, reads=(*made.reads, Part(_ON_CHIP, place[0], (place[1],), (1,))))
    return made


def _meet(some: Sequence[Part], others: Sequence[Part]) -> bool:
    return any(
        a.region == b.region and a.bounds[0] < b.bounds[1] and b.bounds[0] < a.bounds[1] for a in some for b in others
    )
