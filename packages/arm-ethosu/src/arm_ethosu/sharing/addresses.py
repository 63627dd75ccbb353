"""A command stream whose constants are at other addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..accelerators import Family
from ..command_stream import LONG, walk
from ..schedule.footprints import Part, reads_by_register
from ..schedule.memories import CONSTANTS
from ..schedule.operations import Operation
from .pool import Moves


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

    An address is changed where Vela sets it. Where an operation needs another one than the one before it, although Vela
    set the register once for both, it is set before the operation.

    Args:
        words: of Vela's stream.
        operations: of it.
    """
    return _Stream(words, operations, family, moves).words


class _Stream:
    def __init__(self, words: Sequence[int], operations: Sequence[Operation], family: Family, moves: Moves) -> None:
        self.family, self.moves = family, moves
        self.words: list[int] = []
        self.now: dict[int, int] = {}
        self.unread: dict[int, int] = {}  # where a register was set that no operation has read since
        at_word = {operation.at: operation for operation in operations}
        for at, word, value in walk(list(words)):
            if at in at_word:
                self._addresses(at_word[at])
            elif word & LONG:
                number = word & (LONG | 0x3FF)
                self.now[number], self.unread[number] = value, len(self.words)
            self.words += words[at : at + (2 if word & LONG else 1)]

    def _addresses(self, operation: Operation) -> None:
        """Sets the addresses that an operation reads from."""
        for register, part in reads_by_register(operation, self.family):
            wanted = operation.get(register)
            if part.region == CONSTANTS:
                wanted += self.moves.distance(part)
            set_at = self.unread.pop(register, None)
            if self.now[register] == wanted:
                continue
            command = [register | (wanted >> 32) << 16, wanted & 0xFFFFFFFF]
            if set_at is None:
                self.words += command
            else:
                self.words[set_at : set_at + 2] = command
            self.now[register] = wanted
