"""Shapes in which elementwise operators read their operands, which are repeated along the axes that they lack.

Vela may take results in other shapes, or compute them in parts: what such kernels read is seen in ``memory`` alone. Of
Ethos-U55 and U65, which repeat one operand, it writes the other as often as needed before the kernel reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.feature_maps import Size, computed, inputs
from .debug_database import Owned
from .difference import Difference

_OPERATORS = ("ADD", "INTDIV", "MAXIMUM", "MINIMUM", "MUL", "SUB")


def operand_difference(kernels: Sequence[Owned], family: Family) -> Difference | None:
    """The first elementwise kernel that reads an operand in another shape than the graph has."""
    for each in kernels:
        op = each.op
        if op is None or op.name not in _OPERATORS or each.command.code != r.ELEMENTWISE:
            continue
        whole = computed(each.command)
        if whole != _size(op.output.shape):
            continue
        maps = inputs(each.command, family == "u85")
        written = [(1, 1, 1) if stored.storage == r.NOWHERE else stored.size for stored in maps]
        right = [size for tensor in op.inputs[:2] if (size := _size(tensor.shape)) is not None]
        repeated = Counter(size for size in written if size != whole)
        if len(written) == len(right) == 2 and repeated - Counter(right):
            return Difference(op, "operands (height, width, depth)", f"{written}", f"{right}")
    return None


def _size(shape: Sequence[int]) -> Size | None:
    """Height, width and depth; None: of several images."""
    images, size = shape[:-3], tuple(shape[-3:])
    height, width, depth = (1,) * (3 - len(size)) + size
    return (height, width, depth) if all(n == 1 for n in images) else None
