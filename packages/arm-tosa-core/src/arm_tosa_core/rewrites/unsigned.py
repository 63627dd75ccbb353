"""A RESCALE between uint8 and int8 becomes one with the RESCALE beside it, so that changing the sign costs nothing."""

from __future__ import annotations

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.pattern import Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Stage
from ..tosa.scaling import is_by_one

_NARROW = (DType.INT8, DType.INT16)  # the types that RESCALE takes to uint8 and makes of it


def _reads_unsigned(match: Match) -> bool:
    """Whether the inner one makes int8 of uint8."""
    inner = match["inner"]
    return inner.inputs[0].dtype is DType.UINT8 and _changes_the_sign(inner) and match.op.output.dtype in _NARROW


def _makes_unsigned(match: Match) -> bool:
    """Whether the outer one makes uint8 of int8."""
    outer = match.op
    return outer.output.dtype is DType.UINT8 and _changes_the_sign(outer) and match["inner"].inputs[0].dtype in _NARROW


def _changes_the_sign(op: Op) -> bool:
    """Whether a RESCALE between uint8 and int8 leaves every number as it is: 128 is between the zero points."""
    before, after = (int(zero.data[0]) for zero in op.inputs[3:] if zero.data is not None)
    return is_by_one(op) and abs(before - after) == 128


def _check(match: Match) -> str | None:
    if match["inner"].output.dtype is DType.INT8 and (_reads_unsigned(match) or _makes_unsigned(match)):
        return None
    return "neither changes the sign alone"


def _merged(match: Match) -> Tensor:
    """A RESCALE takes in the one beside it, which only changes the sign."""
    op, inner, graph = match.op, match["inner"], match.graph
    x, *scales, zero, new_zero = inner.inputs
    if _reads_unsigned(match):
        operands = [x, *op.inputs[1:3], _unsigned(graph, op.inputs[3]), op.inputs[4]]
        return match.insert("RESCALE", *operands, **{**op.attrs, "input_unsigned": True})
    attrs = {**inner.attrs, "output_unsigned": True, "output_dtype": DType.UINT8}
    return match.insert("RESCALE", x, *scales, zero, _unsigned(graph, new_zero), **attrs)


def _unsigned(graph: Graph, zero: Tensor) -> Tensor:
    """A zero point of int8 as one of uint8."""
    assert zero.data is not None
    return graph.constant((zero.data.astype(np.int16) + 128).astype(np.uint8), DType.UINT8)


MERGE_SIGNS = pattern_rewrite(
    "merge_signs", Stage.OPTIMIZE, Pattern("RESCALE", {0: Pattern("RESCALE", name="inner")}), _merged, _check
)
