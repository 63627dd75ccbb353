"""The bytes that payloads read of their constants, each run of them once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..command_stream.footprints import Part
from ..command_stream.hardware import ALIGNMENT
from ..command_stream.operations import UnreadableStream


@dataclass
class Pool:
    """Runs of bytes, aligned as they were in the blocks that they come from.

    Attributes:
        data: all of them.
        shared: bytes that were added and in it already.
    """

    data: bytearray = field(default_factory=bytearray)
    shared: int = 0
    _places: dict[bytes, int] = field(default_factory=dict)

    def add(self, block: bytes, parts: Iterable[Part]) -> Moves:
        """Takes what is read of a block; says where it is now.

        Raises:
            UnreadableStream: a part leaves the block.
        """
        moves = Moves()
        for first, end in _runs(parts, len(block)):
            run = block[first:end]
            if run in self._places:
                self.shared += len(run)
            else:
                self.data += bytes(-len(self.data) % ALIGNMENT)
                self._places[run] = len(self.data)
                self.data += run
            moves.add(first, end, self._places[run])
        return moves


@dataclass
class Moves:
    """Where runs of one block are in the pool; in the order of the block."""

    firsts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, first: int, end: int, place: int) -> None:
        """A run behind those that are known."""
        self.firsts.append(first)
        self.ends.append(end)
        self.places.append(place)

    def distance(self, part: Part) -> int:
        """By how much the address of a part changes, which is in one of the runs."""
        run = bisect_right(self.firsts, part.bounds[0]) - 1
        assert run >= 0 and part.bounds[1] <= self.ends[run], "parts are added before they are moved"
        return self.places[run] - self.firsts[run]


def _runs(parts: Iterable[Part], size: int) -> list[tuple[int, int]]:
    """What parts span, in whole units of alignment at the front; those that overlap are one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted({part.bounds for part in parts}):
        if first < 0 or end > size:
            raise UnreadableStream(f"bytes {first} to {end} are outside of the {size} of the constants")
        first -= first % ALIGNMENT
        if found and first < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((first, end))
    return found
