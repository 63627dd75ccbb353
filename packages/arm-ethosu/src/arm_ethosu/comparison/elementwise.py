"""Shapes in which elementwise operators read their operands, which are repeated along the axes that they lack.

Ethos-U85 makes SELECT of an And, an AndNot, and an Or of the results of these two.

Vela may take results in other shapes, or compute them in parts: what such kernels read is seen in ``memory`` alone. Of
Ethos-U55 and U65, which repeat one operand, it writes the other as often as needed before the kernel reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import Op

from ..accelerators import Family
from ..command_stream import registers as r
from ..command_stream.feature_maps import Size, computed, inputs
from .debug_database import Owned
from .difference import Difference

_OPERATORS = ("ADD", "INTDIV", "MAXIMUM", "MINIMUM", "MUL", "SUB")
#: Operands of SELECT, by what Vela calls the kernel that reads them.
_OF_SELECT = {"And": (1, 0), "AndNot": (2, 0)}


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


def choice_difference(kernels: Sequence[Owned]) -> Difference | None:
    """The first SELECT of which a kernel computes more or fewer elements than its two operands have, if repeated."""
    elements: Counter[tuple[Op, str]] = Counter()
    for each in kernels:
        if each.op is not None and each.op.name == "SELECT" and each.kind in _OF_SELECT:
            elements[each.op, each.kind] += prod(computed(each.command))
    for (op, kind), count in elements.items():
        right = prod(np.broadcast_shapes(*(op.inputs[number].shape for number in _OF_SELECT[kind])))
        if count != right:
            return Difference(op, f"{kind} computes so many elements:", f"{count}", f"{right}")
    return None


def _size(shape: Sequence[int]) -> Size | None:
    """Height, width and depth; None: of several images."""
    images, size = shape[:-3], tuple(shape[-3:])
    height, width, depth = (1,) * (3 - len(size)) + size
    return (height, width, depth) if all(n == 1 for n in images) else None
