"""A RESCALE between uint8 and int8 becomes one with the RESCALE beside it, so that changing the sign costs nothing."""

from __future__ import annotations

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.rewrite import Rewrite, Stage
from ..tosa.scaling import is_by_one

_NARROW = (DType.INT8, DType.INT16)  # what RESCALE takes to uint8 and makes of it


def apply(graph: Graph, op: Op) -> bool:
    """Merges a RESCALE with the one that makes its operand, where either only changes the sign."""
    inner = op.inputs[0].producer
    if inner is None or inner.name != "RESCALE" or inner.output.dtype is not DType.INT8:
        return False
    x, _, _, zero, _ = inner.inputs
    if x.dtype is DType.UINT8 and is_by_one(inner) and op.output.dtype in _NARROW:
        operands = [x, *op.inputs[1:3], _unsigned(graph, op.inputs[3]), op.inputs[4]]
        attrs = {**op.attrs, "input_unsigned": True}
    elif op.output.dtype is DType.UINT8 and is_by_one(op) and x.dtype in _NARROW:
        operands = [*inner.inputs[:3], zero, _unsigned(graph, inner.inputs[4])]
        attrs = {**inner.attrs, "output_unsigned": True, "output_dtype": DType.UINT8}
    else:
        return False
    graph.replace(op.output, graph.insert(graph.ops.index(op), "RESCALE", operands, attrs, op.origin).output)
    return True


def _unsigned(graph: Graph, zero: Tensor) -> Tensor:
    """A zero point of int8, of uint8."""
    assert zero.data is not None
    return graph.constant((zero.data.astype(np.int16) + 128).astype(np.uint8), DType.UINT8)


MERGE_SIGNS = Rewrite("merge_signs", Stage.OPTIMIZE, ("RESCALE",), apply)
