"""A command stream whose operations find other values in some registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..command_stream import LONG, walk
from ..schedule.operations import Operation

#: What an operation is to find in the registers that it looks at and that are changed for any operation.
Wanted = Callable[[Operation], Mapping[int, int]]


def with_registers(words: Sequence[int], operations: Sequence[Operation], wanted: Wanted) -> list[int]:
    """The words of the stream.

    A value is changed where Vela sets it. Where an operation needs another one than the one before it, although Vela
    set the register once for both, it is set before the operation.

    Args:
        words: of Vela's stream.
        operations: of it.
    """
    out: list[int] = []
    now: dict[int, int] = {}
    unread: dict[int, int] = {}  # where a register was set that no operation has read since
    at_word = {operation.at: operation for operation in operations}
    for at, word, value in walk(list(words)):
        if at in at_word:
            for register, needed in wanted(at_word[at]).items():
                set_at = unread.pop(register, None)
                if now[register] == needed:
                    continue
                command = _command(register, needed)
                if set_at is None:
                    out += command
                else:
                    out[set_at : set_at + len(command)] = command
                now[register] = needed
        else:
            register = word & (LONG | 0x3FF)
            now[register], unread[register] = value, len(out)
        out += words[at : at + (2 if word & LONG else 1)]
    return out


def _command(register: int, value: int) -> list[int]:
    return [register | (value >> 32) << 16, value & 0xFFFFFFFF] if register & LONG else [register | value << 16]
