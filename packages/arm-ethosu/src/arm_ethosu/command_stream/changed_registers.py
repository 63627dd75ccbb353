"""A command stream whose operations find other values in some registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .operations import Operation
from .words import command, length, walk

#: What an operation is to find in the registers that it looks at and that are changed for any operation.
Wanted = Callable[[Operation], Mapping[int, int]]


def with_registers(words: Sequence[int], operations: Sequence[Operation], wanted: Wanted) -> list[int]:
    """The words of the stream.

    A value is changed where Vela sets it. Where an operation needs another one than the one before it, although Vela
    set the register once for both, it is set before the operation.
    """
    out: list[int] = []
    now: dict[int, int] = {}
    unread: dict[int, int] = {}  # where a register was set that no operation has read since
    at_word = {operation.at: operation for operation in operations}
    for at, register, value in walk(words):
        if at in at_word:
            for name, needed in wanted(at_word[at]).items():
                set_at = unread.pop(name, None)
                if now[name] == needed:
                    continue
                setting = command(name, needed)
                if set_at is None:
                    out += setting
                else:
                    out[set_at : set_at + len(setting)] = setting
                now[name] = needed
        else:
            now[register], unread[register] = value, len(out)
        out += words[at : at + length(register)]
    return out
