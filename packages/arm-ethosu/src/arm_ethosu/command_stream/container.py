"""The containers in which Vela writes command streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..accelerators import ACCELERATORS

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_COP1, _COP2 = 0x31504F43, 0x32504F43
_CONFIG, _STREAM = 1, 2  # driver actions of COP1
_PRODUCTS = ("u55", "u65", "u85")


def accelerator_of(cmd_data: Bytes) -> str | None:
    """The accelerator that a stream was compiled for, as its configuration says; None: that is missing or unknown."""
    words = np.frombuffer(cmd_data.tobytes()[: cmd_data.size // 4 * 4], "<u4")
    found = next((word for word in _configuration(words)), None)
    if found is None or not found >> 28 < len(_PRODUCTS):
        return None
    name = f"ethos-{_PRODUCTS[found >> 28]}-{1 << (found & 15)}"
    return name if name in ACCELERATORS else None


def _configuration(words: np.ndarray[Any, Any]) -> Iterator[int]:
    """The word that says product and MACs, as log2 of those of all cores."""
    if len(words) > 10 and words[0] == _COP2:
        yield int(words[10])
    at = 1
    while len(words) > at + 1 and words[0] == _COP1 and int(words[at]) & 0xFF != _STREAM:
        if int(words[at]) & 0xFF == _CONFIG:
            yield int(words[at + 1])
        at += 3 if int(words[at]) & 0xFF == _CONFIG else 1


def commands_of(cmd_data: Bytes) -> list[int]:
    """The words of the command stream inside of its container.

    Raises:
        ValueError: there is none.
    """
    words = _words(cmd_data)
    start, length = _stream(words)
    found: list[int] = words[start : start + length].tolist()
    return found


def with_commands(cmd_data: Bytes, commands: list[int]) -> Bytes:
    """The container with other commands in it.

    Raises:
        ValueError: it has no command stream.
    """
    words = _words(cmd_data)
    start, length = _stream(words)
    made = np.concatenate([words[:start], np.array(commands, "<u4"), words[start + length :]])
    if made[0] == _COP1:
        count = len(commands)
        made[start - 1] = _STREAM | (count & 0xFFFF) << 16 | count >> 16 << 8
    else:  # bytes of all entries, and of the one that there is
        made[[2, 5]] += np.uint32(4 * (len(commands) - length) & 0xFFFFFFFF)
    return np.frombuffer(made.tobytes(), np.uint8)


def _words(cmd_data: Bytes) -> np.ndarray[Any, Any]:
    if cmd_data.size % 4:
        raise ValueError("has cmd_data that is not a whole number of words")
    return np.frombuffer(cmd_data.tobytes(), "<u4")


def _stream(words: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Where the commands begin, and how many words they have."""
    if len(words) > 6 and words[0] == _COP2:
        start = 7 + int(words[6]) // 4
        return start, int(words[5]) // 4 - (start - 6)
    at = 1
    while len(words) > at and words[0] == _COP1:
        word = int(words[at])
        if word & 0xFF == _STREAM:
            return at + 1, (word >> 8 & 0xFF) << 16 | word >> 16
        at += 3 if word & 0xFF == _CONFIG else 1
    raise ValueError("has cmd_data without a command stream")
