"""What is changed in the command streams that Vela writes for Ethos-U55 and U65.

Commands and registers have the numbers of Vela's ``ethos_u55_regs``; a command is one word, or two if bit 14 is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .accelerators import family_of

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_KERNELS = {2, 3, 5, 6}  # CONV, DEPTHWISE, POOL, ELEMENTWISE
_LONG = 1 << 14
_OFM_WIDTH_M1, _OFM_HEIGHT_M1, _OFM_PRECISION, _BLOCKDEP = 0x111, 0x112, 0x114, 0x12F
_OFM_STRIDE_X, _OFM_STRIDE_Y = _LONG | 0x14, _LONG | 0x15
_READ = {  # of a kernel's result
    _OFM_WIDTH_M1,
    _OFM_HEIGHT_M1,
    _OFM_PRECISION,
    _OFM_STRIDE_X,
    _OFM_STRIDE_Y,
}
_BRICKS = 1 << 6  # of OFM_PRECISION: not rows of columns

_COP1, _COP2 = 0x31504F43, 0x32504F43
_CONFIG, _STREAM = 1, 2  # driver actions of COP1


def settled(cmd_data: Bytes, accelerator: str) -> Bytes:
    """The commands, with a BLOCKDEP of 0 behind each kernel that writes columns as rows, as those of a TRANSPOSE do.

    Vela compares blocks of such a result with blocks of what reads it as if both lay in one order, so that the reader
    may begin before all it reads is written. With 0 it waits for the end of the kernel before. Commands of Ethos-U85,
    which transposes otherwise, are as they were.

    Raises:
        ValueError: these are not Vela's commands.
    """
    if family_of(accelerator) == "u85":
        return cmd_data
    if cmd_data.size % 4:
        raise ValueError("has cmd_data that is not a whole number of words")
    words = np.frombuffer(cmd_data.tobytes(), "<u4")
    start, length = _stream(words)
    places, values = [], []
    for at, value in _waits(words[start : start + length].tolist()):
        places.append(start + at)
        values.append(_BLOCKDEP | value << 16)
    if not places:
        return cmd_data
    longer = np.insert(words, places, np.array(values, "<u4"))
    if longer[0] == _COP1:
        count = length + len(places)
        longer[start - 1] = _STREAM | (count & 0xFFFF) << 16 | count >> 16 << 8
    else:  # bytes of all entries, and of the one that there is
        longer[[2, 5]] += 4 * len(places)
    return np.frombuffer(longer.tobytes(), np.uint8)


def _waits(words: list[int]) -> Iterator[tuple[int, int]]:
    """Before which words to set BLOCKDEP, and to what."""
    registers = dict.fromkeys(_READ, 0)
    vela = ours = 0
    after_columns, at = False, 0
    while at < len(words):
        word, begin = words[at], at
        number = word & 0x3FF
        if word & _LONG:
            if at + 1 == len(words):
                raise ValueError("has cmd_data that ends inside a command")
            if number | _LONG in _READ:
                registers[number | _LONG] = (word >> 16) << 32 | words[at + 1]
            at += 2
            continue
        at += 1
        if number in _READ:
            registers[number] = word >> 16
        elif number == _BLOCKDEP:
            vela = ours = word >> 16
        elif number in _KERNELS:
            wanted = 0 if after_columns else vela
            if wanted != ours:
                yield begin, wanted
                ours = wanted
            after_columns = _writes_columns(registers)


def _writes_columns(registers: dict[int, int]) -> bool:
    """Whether columns of a result lie farther apart than its rows. (Strides below 0 count as long: waiting is safe.)"""
    return (
        registers[_OFM_STRIDE_X] > registers[_OFM_STRIDE_Y]
        and registers[_OFM_WIDTH_M1] > 0
        and registers[_OFM_HEIGHT_M1] > 0
        and not registers[_OFM_PRECISION] & _BRICKS
    )


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
