"""When which bytes of a region are in use: what no transfer of ours may overwrite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from ..command_stream.footprints import Footprint, Part
from ..command_stream.hardware import ALIGNMENT, aligned

Range = tuple[int, int]


class Lives:
    """The bytes of a region in use during each operation: read or written by it, or kept for a later one.

    Args:
        footprints: of the operations, in order.
        results: bytes that are read after the last operation: the first byte, and that behind the last.
    """

    def __init__(self, footprints: Sequence[Footprint], region: int, size: int, results: Iterable[Range] = ()) -> None:
        self.size = size
        live = np.zeros(aligned(size), bool)
        for first, end in results:
            live[first:end] = True
        needed = [_ranges(live)]
        self._touched: list[tuple[Range, ...]] = []
        for footprint in reversed(footprints):
            parts = of_region((*footprint.read, *footprint.written), region)
            # Gaps count as well: the functional model takes what is in flight for a whole, and so does Vela.
            self._touched.append(tuple(part.bounds for part in parts))
            if parts:
                _before(live, footprint, region)
            needed.append(_ranges(live) if parts else needed[-1])
        self._touched.reverse()
        self._needed = needed[::-1]  # before each operation, by it or a later one
        self._gaps = cache(self._between)  # a search asks for few ranges of operations many times

    def free(self, size: int, operations: range, others: Iterable[Range] = ()) -> int | None:
        """The lowest address at which ``size`` bytes are free during all of the operations; None: there is none."""
        known = sorted(others)
        for first, end in self._gaps(operations.start, operations.stop):
            at = first
            for start, stop in known:
                if stop > at and start - at < size:
                    at = max(at, aligned(stop))
            if end - at >= size:
                return at
        return None

    def _between(self, start: int, stop: int) -> list[Range]:
        """What is free during all of the operations."""
        # What is needed later on, and not before the first of them, one of them writes.
        busy = {*self._needed[start], *(known for touched in self._touched[start:stop] for known in touched)}
        gaps, at = [], 0
        for first, end in [*sorted(busy), (self.size, self.size)]:
            if first > at:
                gaps.append((at, first))
            at = max(at, aligned(end))
        return gaps


def of_region(parts: Iterable[Part], region: int) -> list[Part]:
    """Those of the parts that lie in a region."""
    return [part for part in parts if part.region == region]


def _before(live: np.ndarray[tuple[int], np.dtype[np.bool_]], footprint: Footprint, region: int) -> None:
    """From what is needed behind an operation to what is needed before it."""
    if footprint.exact:
        for part in of_region(footprint.writes, region):
            part.of(live)[...] = False
    for part in of_region(footprint.reads, region):
        part.of(live)[...] = True


def _ranges(used: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Range, ...]:
    """The stretches of what is used, in whole multiples of the alignment."""
    halves = used.view(np.uint64) != 0
    units = halves[::2] | halves[1::2]
    edges = np.flatnonzero(np.diff(units, prepend=False, append=False)) * ALIGNMENT
    return tuple(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
