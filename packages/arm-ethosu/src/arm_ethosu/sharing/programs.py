"""Payloads of one program that have their constants in common."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import ToolError

from ..accelerators import Family, family_of
from ..command_stream import registers as r
from ..command_stream.changed_registers import with_registers
from ..command_stream.container import accelerator_of, commands_of, with_commands
from ..command_stream.footprints import Part, reads_by_register
from ..command_stream.hardware import ALIGNMENT
from ..command_stream.operations import Operation, UnreadableStream, operations_of
from ..schedule.verification import Unproved
from ..vela import Arrays
from .proof import require_equal


def with_shared_weights(programs: Sequence[Arrays]) -> list[Arrays] | None:
    """What Vela wrote for several methods, with one block of weights for all of those whose commands are understood.

    Args:
        programs: ``VelaOutput.arrays`` or ``payload.unpack`` of each.

    Returns:
        None where no byte is saved.

    Raises:
        ToolError: the new commands could not be shown to do what the old ones do, which is a fault of this package.
    """
    pool = Pool()
    streams = [_taken(arrays, pool) for arrays in programs]
    data = np.frombuffer(bytes(pool.data), np.uint8)
    sharers = [arrays["weight_data"].size for arrays, known in zip(programs, streams, strict=True) if known is not None]
    if not pool.shared or data.size >= sum(sharers):
        return None
    return [
        arrays if known is None else _moved(arrays, known, data)
        for arrays, known in zip(programs, streams, strict=True)
    ]


@dataclass(frozen=True)
class _Known:
    """A stream that is understood, and where its constants are in the pool."""

    words: list[int]
    operations: list[Operation]
    family: Family
    moves: Moves


def _taken(arrays: Arrays, pool: Pool) -> _Known | None:
    """Adds a program's constants; None: its commands are not understood, so that it keeps its own."""
    if (accelerator := accelerator_of(arrays["cmd_data"])) is None:
        return None
    family = family_of(accelerator)
    try:
        words = commands_of(arrays["cmd_data"])
        operations = operations_of(words)
        parts = list(constant_parts(operations, family))
        return _Known(words, operations, family, pool.add(arrays["weight_data"].tobytes(), parts))
    except ValueError:
        return None


def _moved(arrays: Arrays, known: _Known, data: np.ndarray[Any, Any]) -> Arrays:
    words = readdressed(known.words, known.operations, known.family, known.moves)
    try:
        block = arrays["weight_data"].tobytes()
        require_equal(known.operations, operations_of(words), known.family, block, data.tobytes())
    except Unproved as error:
        fix = "lower the methods one by one, and report it: this is a fault of arm-ethosu"
        raise ToolError("sharing weights", f"made a program that is not proved: {error}", fix=fix) from error
    return {**arrays, "cmd_data": with_commands(arrays["cmd_data"], words), "weight_data": data}


def constant_parts(operations: Sequence[Operation], family: Family) -> Iterator[Part]:
    """What a stream reads of the constants.

    Raises:
        UnreadableStream: an operation reads in a way that is not known.
    """
    for operation in operations:
        for _, part in reads_by_register(operation, family):
            if part.region == r.CONSTANTS:
                yield part


def readdressed(words: Sequence[int], operations: Sequence[Operation], family: Family, moves: Moves) -> list[int]:
    """The words of a stream, with constants where ``moves`` says."""

    def addresses(operation: Operation) -> dict[int, int]:
        return {
            register: operation.get(register) + (moves.distance(part) if part.region == r.CONSTANTS else 0)
            for register, part in reads_by_register(operation, family)
        }

    return with_registers(words, operations, addresses)


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
    runs: list[tuple[int, int]] = []
    for first, end in sorted({part.bounds for part in parts}):
        if first < 0 or end > size:
            raise UnreadableStream(f"bytes {first} to {end} are outside of the {size} of the constants")
        first -= first % ALIGNMENT
        if runs and first < runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], end)
        else:
            runs.append((first, end))
    return runs
