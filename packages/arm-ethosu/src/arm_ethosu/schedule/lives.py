"""When which bytes of a region are in use: what no transfer of ours may overwrite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .footprints import Footprint, Part
from .hardware import ALIGNMENT, aligned

Range = tuple[int, int]


class Lives:
    """The bytes of a region in use during each operation: read or written by it, or kept for a later one.

    Args:
        footprints: of the operations, in order.
        region: the region.
        size: its bytes.
        kept: bytes that are read after the last operation, the program's results: first byte, and that behind the last.
    """

    def __init__(self, footprints: Sequence[Footprint], region: int, size: int, kept: Iterable[Range] = ()) -> None:
        self.size = size
        live = np.zeros(aligned(size), bool)
        for first, end in kept:
            live[first:end] = True
        busy: list[tuple[Range, ...]] = []
        for footprint in reversed(footprints):
            busy.append(_during(live, footprint, region) if _touches(footprint, region) else _ranges(live))
        self._busy = busy[::-1]

    def free(self, size: int, operations: range, others: Iterable[Range] = ()) -> int | None:
        """The lowest address at which ``size`` bytes are free during all of the operations; None: there is none.

        Args:
            others: more bytes that are in use.
        """
        busy = {known for operation in set(self._busy[operations.start : operations.stop]) for known in operation}
        at = 0
        for first, end in sorted(busy.union(others)):
            if first - at >= size:
                return at
            at = max(at, aligned(end))
        return at if self.size - at >= size else None


def of_region(parts: Iterable[Part], region: int) -> list[Part]:
    """Those of the parts that lie in a region."""
    return [part for part in parts if part.region == region]


def _touches(footprint: Footprint, region: int) -> bool:
    return any(part.region == region for part in (*footprint.reads, *footprint.writes))


def _during(live: np.ndarray[tuple[int], np.dtype[np.bool_]], footprint: Footprint, region: int) -> tuple[Range, ...]:
    """What is in use during an operation; ``live`` goes from what is so behind it to what is so before it."""
    written = of_region(footprint.writes, region)
    if footprint.exact:
        for part in written:
            part.of(live)[...] = False
    for part in of_region(footprint.reads, region):
        part.of(live)[...] = True
    both = live.copy()
    for part in (*written, *of_region(footprint.beside, region)):
        part.of(both)[...] = True
    return _ranges(both)


def _ranges(used: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Range, ...]:
    """The stretches of what is used, in whole multiples of the alignment."""
    units = used.view(np.uint64).reshape(-1, ALIGNMENT // 8).any(axis=1)
    edges = np.flatnonzero(np.diff(units, prepend=False, append=False)) * ALIGNMENT
    return tuple(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
