"""Waits that Vela leaves out of its commands, without which an operation may begin too early."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .accelerators import Family, family_of
from .command_stream import registers as r
from .command_stream.container import Bytes, commands_of, with_commands
from .command_stream.flight import Flight, footprint_and_tables, in_the_way
from .command_stream.footprints import Footprint
from .command_stream.operations import Operation, UnreadableStream, operations_and_branches
from .command_stream.words import walk

# The tallest window of Vela's own list of operators (dilated_height_range in tflite_supported_operators.py). Beyond it
# BLOCKDEP was measured to be too large, from 130 rows or so on. Waiting is never wrong.
_TALL = 64
_OF_RESULT = (r.OFM_WIDTH_M1, r.OFM_HEIGHT_M1, r.OFM_PRECISION, r.OFM_STRIDE_X, r.OFM_STRIDE_Y)
_BRICKS = 1 << 6  # of OFM_PRECISION: not rows of columns
#: Words to insert, and before which word.
_Inserted = Iterator[tuple[int, int]]


def with_waits(cmd_data: Bytes, accelerator: str) -> Bytes:
    """The commands, with waits that Vela leaves out. Those of a program that needs none are as they were.

    All: a KERNEL_WAIT or DMA_WAIT where a transfer, or a kernel beside one, begins before what is in its way ends.

    Ethos-U55 and U65: a BLOCKDEP of 0 behind each kernel that writes columns as rows, as those of a TRANSPOSE do. Vela
    compares blocks of such a result with blocks of what reads it as if both lay in one order, so that the reader may
    begin before all it reads is written. With 0 it waits for the end of the kernel before.

    All: a BLOCKDEP of 0 at kernels whose windows have many rows. Vela has them begin as if they had fewer.

    Raises:
        ValueError: these are not Vela's commands.
    """
    commands, family = commands_of(cmd_data), family_of(accelerator)
    try:
        more = sorted([*_blockdeps(commands, family), *_waits(commands, family)], key=lambda each: each[0])
    except UnreadableStream as error:
        raise ValueError(f"is no program: {error}") from error
    if not more:
        return cmd_data
    places = [at for at, _ in more]
    if family == "u85":  # branches say how many bytes from the start they lead
        for at, number, _ in walk(commands):
            if number == r.BRANCH:
                commands[at + 1] += 4 * bisect_left(places, commands[at + 1] // 4)
    longer = np.insert(np.array(commands, "<u4"), places, np.array([word for _, word in more], "<u4"))
    return with_commands(cmd_data, longer.tolist())


class _Use:
    """What an operation does with memory, found when it is asked for: few run beside another."""

    def __init__(self, op: Operation, family: Family) -> None:
        self._operation, self._family = op, family

    @cached_property
    def _memory(self) -> Footprint | None:
        try:
            return footprint_and_tables(self._operation, self._family)
        except UnreadableStream:
            return None

    def gets_in_the_way_of(self, other: _Use) -> bool:
        """Whether one writes what the other uses; an operation in an unknown mode may use everything."""
        mine, its = self._memory, other._memory
        return mine is None or its is None or in_the_way(mine, its)


def _waits(words: list[int], family: Family) -> _Inserted:
    """Waits for kernels and transfers: operations that still run beside each other then have memory of their own."""
    flight = Flight[_Use](family)
    first = 0
    for op in operations_and_branches(words):
        if op.code in flight.running:
            flight.wait(op.code, op.parameter)
        elif op.code == r.BRANCH:  # it is not known what the place to which it leads runs beside
            for kind in [kind for kind, running in flight.running.items() if running]:
                yield op.at, kind
                flight.wait(kind, 0)
        elif op.is_kernel or op.is_transfer:
            use = _Use(op, family)
            first = first if flight.goes_on else op.at  # nothing waits between kernels that run as one
            for kind, newer in flight.beside(op, use.gets_in_the_way_of):
                yield first, kind | newer << 16
                flight.wait(kind, newer)
            flight.begin(op, use)


def _blockdeps(words: list[int], family: Family) -> _Inserted:
    """BLOCKDEPs."""
    registers = dict.fromkeys(_OF_RESULT, 0)
    vela = ours = rows = 0
    after_columns = False
    for at, number, value in walk(words):
        if number in registers:
            registers[number] = value
        elif number == r.BLOCKDEP:
            vela = ours = value
        elif number == r.KERNEL_HEIGHT_M1:
            rows = value + 1
        elif number in r.KERNELS:
            wanted = 0 if after_columns or rows > _TALL else vela
            if wanted != ours:
                yield at, r.BLOCKDEP | wanted << 16
                ours = wanted
            after_columns = family != "u85" and _writes_columns(registers)


def _writes_columns(registers: dict[int, int]) -> bool:
    """Whether columns of a result lie farther apart than its rows. (Strides below 0 count as long: waiting is safe.)"""
    return (
        registers[r.OFM_STRIDE_X] > registers[r.OFM_STRIDE_Y]
        and registers[r.OFM_WIDTH_M1] > 0
        and registers[r.OFM_HEIGHT_M1] > 0
        and not registers[r.OFM_PRECISION] & _BRICKS
    )
