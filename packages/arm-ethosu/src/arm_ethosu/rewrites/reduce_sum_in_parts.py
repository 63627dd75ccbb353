"""Sums along an axis longer than Vela takes: of parts, then of their sums. INT32 can be added in any order."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from ..native.reduce_sum import LONGEST, part_of
from .inserter import Inserter


def _sums_of_parts(graph: Graph, op: Op) -> bool:
    """A sum along a last axis of more than 65536 elements becomes one of sums."""
    x = op.inputs[0]
    size = x.shape[-1]
    if op.attrs["axis"] != x.rank - 1 or size <= LONGEST:
        return False
    part = part_of(size)
    rows = x.size // size
    insert = Inserter(graph, op)
    sums = insert("REDUCE_SUM", insert.reshape(x, rows * (size // part), part), axis=1)
    total = insert("REDUCE_SUM", insert.reshape(sums, rows, size // part), axis=1)
    graph.replace(op.output, insert.reshape(total, *op.output.shape))
    return True


SUMS_OF_PARTS = Rewrite("sums_of_parts", Stage.LEGALIZE, ("REDUCE_SUM",), _sums_of_parts)
