"""A command stream whose constants are at other addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.changed_registers import with_registers
from ..command_stream.footprints import Part, reads_by_register
from ..command_stream.operations import Operation
from .pool import Moves


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
