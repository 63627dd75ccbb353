"""Chains of int8 functions of one operand, at least one of them a TABLE, become one TABLE."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op
from ..tosa.rewrite import Rewrite, Stage

_ALL = np.arange(-128, 128, dtype=np.int64)


def apply(graph: Graph, op: Op) -> bool:
    """Merges an int8 function with the one that makes its operand and that nobody else uses."""
    inner = op.inputs[0].producer
    if inner is None or "TABLE" not in (op.name, inner.name) or len(inner.output.uses) != 1:
        return False
    if inner.output in graph.outputs:
        return False
    first, second = _function(inner), _function(op)
    if first is None or second is None:
        return False
    entries = second[first + 128].astype(np.int8)
    index = graph.ops.index(inner)
    merged = graph.insert(index, "TABLE", [inner.inputs[0], graph.constant(entries, DType.INT8)], {}, op.origin)
    graph.replace(op.output, merged.output)
    return True


def _function(op: Op) -> np.ndarray[Any, Any] | None:
    """The results for -128 to 127 of an operator from int8 to int8, or None if it is no such function."""
    if op.inputs[0].dtype != DType.INT8 or op.output.dtype != DType.INT8:
        return None
    if op.name == "TABLE":
        return None if op.inputs[1].data is None else op.inputs[1].data.astype(np.int64)
    if op.name == "CLAMP":
        return _ALL.clip(int(op.attrs["min_val"]), int(op.attrs["max_val"]))
    unsigned = op.attrs.get("input_unsigned") or op.attrs.get("output_unsigned")
    if op.name != "RESCALE" or op.attrs["per_channel"] or unsigned or op.attrs["rounding_mode"] != "SINGLE_ROUND":
        return None
    multiplier, shift, zero, new_zero = (int(t.data.item()) for t in op.inputs[1:] if t.data is not None)
    scaled = ((_ALL - zero) * multiplier + (1 << (shift - 1))) >> shift  # TOSA 1.0, apply_scale_32
    return (scaled + new_zero).clip(-128, 127)


MERGE_TABLES = Rewrite("merge_tables", Stage.OPTIMIZE, ("TABLE", "RESCALE", "CLAMP"), apply)
