"""Sums along a long axis: of parts, then of their sums. INT32 can be added in any order."""

from __future__ import annotations

from math import prod

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..limits import MAX_AXIS
from .inserter import Inserter


def _short(match: Match) -> str | None:
    return "its axis is short" if match.op.inputs[0].shape[match.op.attrs["axis"]] <= MAX_AXIS else None


def _sums_of_parts(match: Match) -> Tensor:
    """A sum along an axis of more than 65536 elements becomes one of sums.

    Vela makes the axis channels of a convolution. Along a last axis it takes such a sum of numbers without a zero
    point; of what has one, as in a GroupNorm of one group, it does not, and along other axes none.
    """
    op, x, graph = match.op, match.op.inputs[0], match.graph
    insert, axis = Inserter(graph, op), op.attrs["axis"]
    before, size, behind = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    parts = -(-size // MAX_AXIS)
    part = -(-size // parts)
    x = insert.reshape(x, before, size, behind)
    if lacking := parts * part - size:
        x = insert("PAD", x, graph.shape((0, 0, 0, lacking, 0, 0)), insert.zero(DType.INT32))
    flat = () if behind == 1 else (behind,)  # with channels last Vela need not move them
    sums = insert("REDUCE_SUM", insert.reshape(x, before * parts, part, *flat), axis=1)
    total = insert("REDUCE_SUM", insert.reshape(sums, before, parts, *flat), axis=1)
    return insert.reshape(total, *op.output.shape)


SUMS_OF_PARTS = pattern_rewrite("sums_of_parts", Stage.LEGALIZE, Pattern("REDUCE_SUM"), _sums_of_parts, _short)
