"""A command stream whose constants are at other addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..accelerators import Family
from ..schedule.footprints import Part, reads_by_register
from ..schedule.memories import CONSTANTS
from ..schedule.operations import Operation
from .pool import Moves
from .registers import with_registers


def constant_parts(operations: Sequence[Operation], family: Family) -> Iterator[Part]:
    """What a stream reads of the constants.

    Raises:
        Unschedulable: an operation reads in a way that is not known.
    """
    for operation in operations:
        for _, part in reads_by_register(operation, family):
            if part.region == CONSTANTS:
                yield part


def readdressed(words: Sequence[int], operations: Sequence[Operation], family: Family, moves: Moves) -> list[int]:
    """The words of a stream, with constants where ``moves`` says.

    Args:
        words: of Vela's stream.
        operations: of it.
    """

    def addresses(operation: Operation) -> dict[int, int]:
        return {
            register: operation.get(register) + (moves.distance(part) if part.region == CONSTANTS else 0)
            for register, part in reads_by_register(operation, family)
        }

    return with_registers(words, operations, addresses)
