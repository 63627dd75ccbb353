"""Sums along a long axis: of parts, then of their sums. INT32 can be added in any order."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter

_LONGEST = 1 << 16  # channels of the convolution that Vela makes of a sum


def _sums_of_parts(graph: Graph, op: Op) -> bool:
    """A sum along a last axis of more than 65536 elements becomes one of sums.

    Vela takes such a sum alone, but not where a RESHAPE or RESCALE comes before it, as in a GroupNorm of one group.
    """
    x = op.inputs[0]
    size = x.shape[-1]
    if op.attrs["axis"] != x.rank - 1 or size <= _LONGEST:
        return False
    parts = -(-size // _LONGEST)
    part = -(-size // parts)
    rows, lacking = x.size // size, parts * part - size
    insert = Inserter(graph, op)
    x = insert.reshape(x, rows, size)
    if lacking:
        zero = graph.constant(np.zeros(1, np.int32), DType.INT32)
        x = insert("PAD", x, graph.shape((0, 0, 0, lacking)), zero)
    sums = insert("REDUCE_SUM", insert.reshape(x, rows * parts, part), axis=1)
    total = insert("REDUCE_SUM", insert.reshape(sums, rows, parts), axis=1)
    graph.replace(op.output, insert.reshape(total, *op.output.shape))
    return True


SUMS_OF_PARTS = Rewrite("sums_of_parts", Stage.LEGALIZE, ("REDUCE_SUM",), _sums_of_parts)
