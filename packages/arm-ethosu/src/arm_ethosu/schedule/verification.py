"""Whether a new command stream does what Vela's did; asks nothing of the plan that it was made by.

Both streams run side by side; for the bytes of SRAM stand the numbers of the operations that wrote them. Proved is that

- Vela's operations and waits are there, in order, with the registers that they had, but for the places of constants;
- each reads bytes that the same operation wrote as before, and constants in SRAM are those that it read before;
- where one of two operations is not as it was, neither touches what the other writes while that is in flight. (Vela's
  waits stay, so that others are as safe as they were.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.flight import Flight, in_the_way
from ..command_stream.footprints import Footprint, Part, constants, footprint
from ..command_stream.hardware import ALIGNMENT, aligned
from ..command_stream.operations import Operation
from .lives import of_region

_NOBODY = 0  # who wrote a byte, by number; below 0 it is one of the constants, fetched by us


class Unproved(Exception):
    """A new stream that is not known to do what the old one did; the text says what was found."""


def verify(old: Sequence[Operation], new: Sequence[Operation], family: Family, region: int, size: int) -> None:
    """Compares two streams.

    Args:
        region: that in SRAM.
        size: of it, in bytes.

    Raises:
        Unproved: they differ, or may race.
        UnreadableStream: an operation reads or writes in a way that is not known.
    """
    _Comparison(family, region, size).run(old, new)


class _Comparison:
    def __init__(self, family: Family, region: int, size: int) -> None:
        self.family, self.region, self.size = family, region, size
        self.before = np.full(aligned(size), _NOBODY, np.int32)
        self.after = self.before.copy()
        self.guard = _Guard(family)

    def run(self, old: Sequence[Operation], new: Sequence[Operation]) -> None:
        expected = iter(old)
        wanted = next(expected, None)
        number = 0
        for op in new:
            effect = footprint(op, self.family)
            if wanted is not None and _same(wanted, op):
                self.guard.next(op, effect, changed=effect != footprint(wanted, self.family))
                number += 1
                self._step(wanted, op, number)
                wanted = next(expected, None)
                continue
            self.guard.next(op, effect, changed=True)
            if op.is_transfer:
                self._fetch(op)
            elif op.code != r.DMA_WAIT:
                raise Unproved(
                    f"the operation at word {op.at} is none of Vela's, has other registers, or comes too early"
                )
        if wanted is not None:
            raise Unproved(f"Vela's operation at its word {wanted.at} is missing")

    def _step(self, was: Operation, now: Operation, number: int) -> None:
        """One operation of both: each byte that it reads was written by the same operation."""
        moved = self._moved(was, now)
        old, new = footprint(was, self.family), footprint(now, self.family)
        for one, other in zip(old.reads, new.reads, strict=True):
            if one != other:
                if (one, other) not in moved:
                    raise Unproved(f"the operation at word {now.at} reads another part of memory")
                self._fetched(one, other, now)
            elif one.region == self.region and not np.array_equal(one.of(self.before), one.of(self.after)):
                raise Unproved(f"what the operation at word {now.at} reads was written over")
        if old.writes != new.writes:
            raise Unproved(f"the operation at word {now.at} writes another part of memory")
        for part in of_region(old.writes, self.region):
            part.of(self.before)[...] = number
            part.of(self.after)[...] = number

    def _moved(self, was: Operation, now: Operation) -> set[tuple[Part, Part]]:
        """Constants of a kernel that moved from their own region to the SRAM."""
        if not was.is_kernel:
            return set()
        moves = set()
        for old, new in zip(constants(was, self.family), constants(now, self.family), strict=True):
            from_, to = was.get(old[0]), now.get(new[0])
            if (from_, to) == (r.CONSTANTS, self.region) and old[:2] == new[:2] and old[3] == new[3]:
                moves.add((Part(from_, old[2], (old[3],), (1,)), Part(to, new[2], (new[3],), (1,))))
        return moves

    def _fetched(self, one: Part, other: Part, now: Operation) -> None:
        if not np.array_equal(other.of(self.after), _bytes(one.base, one.counts[0])):
            raise Unproved(f"the kernel at word {now.at} reads constants that were not fetched whole")

    def _fetch(self, op: Operation) -> None:
        """A transfer that Vela did not make: from the constants to SRAM, aligned as all are."""
        source, target, size = op.address(r.DMA0_SRC), op.address(r.DMA0_DST), op.address(r.DMA0_LEN)
        if (op.get(r.DMA0_SRC_REGION), op.get(r.DMA0_DST_REGION)) != (r.CONSTANTS, self.region):
            raise Unproved(f"the transfer at word {op.at} is not one from constants to SRAM")
        if any(n % ALIGNMENT for n in (source, target, size)) or target + size > self.size:
            raise Unproved(f"the transfer at word {op.at} is not aligned, or leaves the SRAM")
        self.after[target : target + size] = _bytes(source, size)


def _bytes(first: int, size: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Some of the constants, as they stand in memory: payloads have fewer than 2**31."""
    return -1 - np.arange(first, first + size, dtype=np.int32)


def _same(was: Operation, now: Operation) -> bool:
    """Whether an operation is one of Vela's: all registers equal, but for the places of a kernel's constants."""
    if (was.code, was.parameter) != (now.code, now.parameter):
        return False
    if not was.is_kernel and not was.is_transfer:
        return True  # it looks at no register
    pairs = (*r.WEIGHTS["u85"], *r.SCALES["u65"])
    free = {r.WEIGHT_REGION, r.SCALE_REGION, *(base for base, _ in pairs)} if was.is_kernel else set()
    theirs = set(r.TRANSFER) if was.is_kernel else {r.WEIGHT_REGION, r.SCALE_REGION, *(n for p in pairs for n in p)}
    names = (was.registers.keys() | now.registers.keys()) - free - theirs
    return all(was.registers.get(name) == now.registers.get(name) for name in names)


class _Guard:
    """Checks pending operations for changed ones."""

    def __init__(self, family: Family) -> None:
        self.flight = Flight[tuple[Footprint, bool]](family)

    def next(self, op: Operation, effect: Footprint, changed: bool) -> None:
        """An operation, and whether it is not as it was.

        Raises:
            Unproved: it may be too early.
        """
        if op.code in self.flight.running:
            self.flight.wait(op.code, op.parameter)
        elif op.is_kernel or op.is_transfer:
            if self.flight.beside(op, lambda other: (changed or other[1]) and in_the_way(effect, other[0])):
                raise Unproved(f"the operation at word {op.at} does not wait for one in flight")
            self.flight.begin(op, (effect, changed))
