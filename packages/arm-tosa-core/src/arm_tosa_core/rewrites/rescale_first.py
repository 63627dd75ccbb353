"""A narrowing RESCALE goes before what only moves data, so that the wide accumulator is never stored.

``CONV2D, RESHAPE, RESCALE`` becomes ``CONV2D, RESCALE, RESHAPE``: compilers fuse the first two, and 8 bits move instead
of 32.
"""

from __future__ import annotations

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor
from ..tosa.rewrite import Rewrite, Stage


def apply(graph: Graph, op: Op) -> bool:
    """Swaps a RESCALE with the RESHAPE, TRANSPOSE or CONCAT that makes its operand and that nobody else uses."""
    wide = op.inputs[0]
    mover = wide.producer
    if mover is None or len(wide.uses) != 1 or op.output.dtype.bits >= wide.dtype.bits or wide in graph.outputs:
        return False
    if mover.name == "CONCAT":
        return _before_concat(graph, op, mover)
    if mover.name not in ("RESHAPE", "TRANSPOSE"):
        return False
    if op.attrs["per_channel"] and not _keeps_channels(mover):
        return False
    index = graph.ops.index(mover)
    narrow = graph.insert(index, "RESCALE", [mover.inputs[0], *op.inputs[1:]], op.attrs, op.origin).output
    moved = graph.insert(index + 1, mover.name, [narrow, *mover.inputs[1:]], mover.attrs, mover.origin).output
    graph.replace(op.output, moved)
    return True


def _keeps_channels(mover: Op) -> bool:
    if mover.name == "TRANSPOSE":
        return bool(mover.attrs["perms"][-1] == mover.output.rank - 1)
    return mover.output.rank > 0 and mover.inputs[0].shape[-1:] == mover.output.shape[-1:]


def _before_concat(graph: Graph, op: Op, concat: Op) -> bool:
    """Each part is rescaled by its own share of the multipliers."""
    along = concat.attrs["axis"] == concat.output.rank - 1
    index = graph.ops.index(concat)
    parts: list[Tensor] = []
    start = 0
    for part in concat.inputs:
        scales = list(op.inputs[1:3])
        attrs = dict(op.attrs)
        if op.attrs["per_channel"] and along:
            stop = start + part.shape[-1]
            share = [(s.data[start:stop], s.dtype) for s in scales if s.data is not None]
            if all((numbers == numbers[0]).all() for numbers, _ in share):
                share = [(numbers[:1], dtype) for numbers, dtype in share]
                attrs["per_channel"] = False
            scales = [graph.constant(np.ascontiguousarray(numbers), dtype) for numbers, dtype in share]
            start = stop
        parts.append(graph.insert(index, "RESCALE", [part, *scales, *op.inputs[3:]], attrs, op.origin).output)
        index += 1
    joined = graph.insert(index, "CONCAT", parts, concat.attrs, concat.origin).output
    graph.replace(op.output, joined)
    return True


RESCALE_FIRST = Rewrite("rescale_first", Stage.OPTIMIZE, ("RESCALE",), apply)
