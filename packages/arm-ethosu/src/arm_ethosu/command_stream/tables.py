"""Where tables lie that kernels look numbers up in: in the last bytes of the core's own memory."""

from __future__ import annotations

from ..accelerators import Family
from . import registers as r
from .operations import Operation

#: Bytes of the core's own memory that are for tables, its last ones.
TABLE_MEMORY = 2048
#: Bytes of a table by the function of ACTIVATION (Ethos-U85), or by the precision of OFM_PRECISION (U55, U65).
_SIZES_U85 = {1: 256, 4: 256, 5: 512, 7: 1024, 8: 2048, 9: 2048}
_SIZES_U55 = {0: 256, 1: 2048, 2: 1024}
#: Ethos-U55 and U65: the first function that is a table, how many are, and the bytes from one to the next.
_FIRST_U55, _SLOTS_U55, _SLOT_U55 = 16, 8, 256


def table_of(kernel: Operation, family: Family) -> tuple[int, int] | None:
    """Where in ``TABLE_MEMORY`` a kernel's table lies: its first byte and its size; None: the kernel has none."""
    activation = kernel.get(r.ACTIVATION, 0)
    function = activation & 31
    if family == "u85":
        size = _SIZES_U85.get(function, 0)
        return ((activation >> 5 & 7) * size, size) if size else None
    slot = function - _FIRST_U55
    if not 0 <= slot < _SLOTS_U55:
        return None
    return slot * _SLOT_U55, _SIZES_U55.get(kernel.get(r.OFM_PRECISION) >> 1 & 3, TABLE_MEMORY)


def brings_a_table(op: Operation) -> bool:
    """Whether an operation is a transfer to the core's own memory."""
    return op.is_transfer and bool(op.get(r.DMA0_DST_REGION) & r.INTERNAL)
