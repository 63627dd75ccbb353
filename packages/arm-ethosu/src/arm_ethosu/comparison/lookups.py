"""Tables: each lies whole in the core's own memory, as the graph has it, when a kernel looks numbers up in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..accelerators import family_of
from ..command_stream import registers as r
from ..command_stream.operations import Operation
from ..command_stream.tables import TABLE_MEMORY, brings_a_table, table_of
from ..vela import Arrays
from .debug_database import Owned
from .difference import Difference

_KIB = 1024
#: The core's own memory, KiB; tables are in its last bytes. As the functional model has it (``accelerators.hpp``).
_ON_CHIP = {"ethos-u55-32": 16, "ethos-u55-64": 16, "ethos-u55-128": 24, "ethos-u55-256": 48, "u65": 48, "u85": 2}
_NOBODYS, _SOMETHING = -1, -2  # of a byte: nobody wrote it, or what is not known
#: Numbers of an INT16 table lie so far apart.
_BETWEEN = 128


def table_difference(
    arrays: Arrays, commands: Sequence[Operation], kernels: Sequence[Owned], accelerator: str
) -> Difference | None:
    """The first kernel that finds another table than the operator has, or none."""
    memory = _Memory(arrays, accelerator)
    owners = {id(each.command): each for each in kernels}
    for command in commands:
        if brings_a_table(command):
            memory.put(command)
        elif (place := memory.place(command)) is not None:
            kernel = owners[id(command)]
            if difference := memory.looked_up(*place, _tables(kernel)):
                return Difference(kernel.op or kernel.last, *difference)
    return None


def _tables(kernel: Owned) -> frozenset[bytes]:
    """What the operator's table may be in memory; empty: Vela made it up."""
    op = next((op for op in (kernel.op, kernel.last) if op is not None and op.name == "TABLE"), None)
    table = None if op is None else op.inputs[1].data
    if table is None:
        return frozenset()
    return frozenset((table.tobytes(),)) if table.dtype.itemsize == 1 else _of_pairs(table.astype(np.int32))


def _of_pairs(table: np.ndarray[Any, Any]) -> frozenset[bytes]:
    """A table of 16 bits: pairs of a number and the distance to the next one.

    On Ethos-U55 and U65 Vela also makes three kernels of an operator: one looks up the numbers, one the distances, and
    one how far between two numbers it is.
    """
    numbers, distances = table[:-1], np.diff(table)
    nothing = np.zeros_like(numbers)
    pairs = ((numbers, distances), (numbers, nothing), (distances, nothing), (nothing, nothing + _BETWEEN))
    return frozenset(np.stack(pair, axis=1).astype("<i2").tobytes() for pair in pairs)


class _Memory:
    """The core's own memory: numbers, or ``_NOBODYS``, or ``_SOMETHING``."""

    def __init__(self, arrays: Arrays, accelerator: str) -> None:
        self._family = family_of(accelerator)
        self._bytes = np.full(_KIB * _ON_CHIP.get(accelerator, _ON_CHIP.get(self._family, 0)), _NOBODYS, np.int16)
        self._weights = arrays["weight_data"]
        self._beyond: tuple[int, int] | None = None

    def put(self, command: Operation) -> None:
        """Does a transfer to it."""
        first, source, size = map(command.address, (r.DMA0_DST, r.DMA0_SRC, r.DMA0_LEN))
        if first + size > len(self._bytes):
            self._beyond = first, first + size
        elif command.get(r.DMA0_SRC_REGION) == r.CONSTANTS:
            table = self._weights[source : source + size]
            self._bytes[first : first + len(table)] = table
        else:
            self._bytes[first : first + size] = _SOMETHING

    def place(self, command: Operation) -> tuple[int, int] | None:
        """Where a kernel looks numbers up: first byte and end; None: nowhere, or it is no kernel."""
        table = table_of(command, self._family) if command.is_kernel else None
        if table is None:
            return None
        first = len(self._bytes) - TABLE_MEMORY + table[0]
        return first, first + table[1]

    def looked_up(self, first: int, end: int, tables: frozenset[bytes]) -> tuple[str, str, str] | None:
        """What is wrong with the table there, as of ``Difference``."""
        inside = f"0 to {len(self._bytes)}"
        if self._beyond is not None:
            return "puts a table at bytes", f"{self._beyond[0]} to {self._beyond[1]} of the core's memory", inside
        if end > len(self._bytes):
            return "looks numbers up at bytes", f"{first} to {end} of the core's memory", inside
        there = self._bytes[first:end]
        if missing := np.count_nonzero(there == _NOBODYS):
            return "looks numbers up where so many bytes are that nobody wrote:", f"{missing}", "0"
        if tables and (there >= 0).all() and there.astype(np.uint8).tobytes() not in tables:
            return "looks numbers up in", "another table", "the operator's"
        return None
