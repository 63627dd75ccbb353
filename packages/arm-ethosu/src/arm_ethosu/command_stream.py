"""What is changed in the command streams that Vela writes.

Commands and registers have the numbers of Vela's ``ethos_u55_regs``; a command is one word, or two if bit 14 is set.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from .accelerators import ACCELERATORS, family_of

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_KERNELS = {2, 3, 5, 6, 7}  # CONV, DEPTHWISE, POOL, ELEMENTWISE; RESIZE on U85
_DMA_START, _DMA_WAIT, _KERNEL_WAIT = 16, 17, 18
LONG = 1 << 14
BRANCH = LONG | 0x100
_SIDES, _INDEXED = (0x130, 0x131), 1 << 11  # DMA0_SRC_REGION and DMA0_DST_REGION
_OFM_WIDTH_M1, _OFM_HEIGHT_M1, _OFM_PRECISION, _BLOCKDEP = 0x111, 0x112, 0x114, 0x12F
_KERNEL_HEIGHT_M1 = 0x121
# The tallest window of Vela's own list of operators (dilated_height_range in tflite_supported_operators.py). Beyond it
# BLOCKDEP was measured to be too large, from 130 rows or so on. Waiting is never wrong.
_TALL = 64
_OFM_STRIDE_X, _OFM_STRIDE_Y = LONG | 0x14, LONG | 0x15
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
_PRODUCTS = ("u55", "u65", "u85")


def commands(cmd_data: Bytes) -> Iterator[tuple[int, int, int]]:
    """Each command of what Vela wrote: the index of its word, its number (of two words: with bit 14), and its value.

    The value of a command of one word has 16 bits; that of one of two has 48, the parameter above the second word.

    Raises:
        ValueError: these are not Vela's commands.
    """
    for at, word, value in walk(commands_of(cmd_data)):
        yield at, word & (LONG | 0x3FF), value


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


def settled(cmd_data: Bytes, accelerator: str) -> Bytes:
    """The commands, with waits that Vela leaves out. Those of a program that needs none are as they were.

    Ethos-U55 and U65: a BLOCKDEP of 0 behind each kernel that writes columns as rows, as those of a TRANSPOSE do. Vela
    compares blocks of such a result with blocks of what reads it as if both lay in one order, so that the reader may
    begin before all it reads is written. With 0 it waits for the end of the kernel before.

    All: a BLOCKDEP of 0 at kernels whose windows have many rows. Vela has them begin as if they had fewer.

    Ethos-U85: indexed transfers, which GATHER and SCATTER are, run alone. Vela counts a byte for each index, which has
    four, and waits for no one who writes the others, before or after.

    Raises:
        ValueError: these are not Vela's commands.
    """
    commands = commands_of(cmd_data)
    u85 = family_of(accelerator) == "u85"
    more = sorted([*_blockdeps(commands, u85), *(_alone(commands) if u85 else ())], key=lambda each: each[0])
    if not more:
        return cmd_data
    places = [at for at, _ in more]
    if u85:  # branches say how many bytes from the start they lead
        for at, word, _ in walk(commands):
            if word & 0xFFFF == BRANCH:
                commands[at + 1] += 4 * bisect_left(places, commands[at + 1] // 4)
    longer = np.insert(np.array(commands, "<u4"), places, np.array([word for _, word in more], "<u4"))
    return with_commands(cmd_data, longer.tolist())


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


def walk(words: list[int]) -> Iterator[tuple[int, int, int]]:
    """Each command: where it begins, its first word, and its value, which for long ones has 48 bits."""
    at = 0
    while at < len(words):
        word = words[at]
        if word & LONG and at + 1 == len(words):
            raise ValueError("has cmd_data that ends inside a command")
        yield at, word, (word >> 16) << 32 | words[at + 1] if word & LONG else word >> 16
        at += 2 if word & LONG else 1


def _blockdeps(words: list[int], u85: bool) -> Iterator[tuple[int, int]]:
    """BLOCKDEPs to insert, and before which words."""
    registers = dict.fromkeys(_READ, 0)
    vela = ours = rows = 0
    after_columns = False
    for at, word, value in walk(words):
        number = word & (LONG | 0x3FF)
        if number in _READ:
            registers[number] = value
        elif number == _BLOCKDEP:
            vela = ours = value
        elif number == _KERNEL_HEIGHT_M1:
            rows = value + 1
        elif number in _KERNELS:
            wanted = 0 if after_columns or rows > _TALL else vela
            if wanted != ours:
                yield at, _BLOCKDEP | wanted << 16
                ours = wanted
            after_columns = not u85 and _writes_columns(registers)


def _alone(words: list[int]) -> Iterator[tuple[int, int]]:
    """Waits to insert, and before which words: for all before each indexed transfer, and for that before all else."""
    running = {_DMA_WAIT: False, _KERNEL_WAIT: False}  # what each would wait for
    sides = dict.fromkeys(_SIDES, 0)
    indexed = False
    for at, word, value in walk(words):
        number = word & (LONG | 0x3FF)
        if number in sides:
            sides[number] = value
        elif number in running and not value:
            running[number] = False
        elif number in _KERNELS or number == _DMA_START:
            alone = number == _DMA_START and any(value & _INDEXED for value in sides.values())
            for wait, needed in ((_DMA_WAIT, indexed or alone), (_KERNEL_WAIT, alone)):
                if needed and running[wait]:
                    yield at, wait
                    running[wait] = False
            running[_DMA_WAIT if number == _DMA_START else _KERNEL_WAIT] = True
            indexed = alone


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
