"""Chains of int8 functions of one operand, at least one of them a TABLE, become one TABLE."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tosa.ir import DType, Op, Tensor
from ..tosa.pattern import Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Stage

_ALL = np.arange(-128, 128, dtype=np.int64)


def _check(match: Match) -> str | None:
    op, inner = match.op, match["inner"]
    if "TABLE" not in (op.name, inner.name):
        return "neither is a TABLE"
    return None if all(_function(table) is not None for table in (inner, op)) else "not both are functions of an int8"


def _merged(match: Match) -> Tensor:
    """Two int8 functions, of which one is a TABLE, become a TABLE."""
    op, inner = match.op, match["inner"]
    first, second = _function(inner), _function(op)
    assert first is not None and second is not None
    entries = second[first + 128].astype(np.int8)
    return match.before("inner")("TABLE", inner.inputs[0], match.graph.constant(entries, DType.INT8))


def _function(op: Op) -> np.ndarray[Any, Any] | None:
    """The results for -128 to 127 of an operator from int8 to int8, or None if it is no such function."""
    if op.inputs[0].dtype != DType.INT8 or op.output.dtype != DType.INT8:
        return None
    if op.name == "TABLE":
        return None if op.inputs[1].data is None else op.inputs[1].data.astype(np.int64)
    if op.name == "CLAMP":
        return _ALL.clip(int(op.attrs["min_val"]), int(op.attrs["max_val"]))
    unsigned = op.attrs["input_unsigned"] or op.attrs["output_unsigned"]
    if op.attrs["per_channel"] or unsigned or op.attrs["rounding_mode"] != "SINGLE_ROUND":
        return None
    numbers = [int(t.data.item()) for t in op.inputs[1:] if t.data is not None]
    if len(numbers) < 4:
        return None  # computed at run time
    multiplier, shift, zero, new_zero = numbers
    scaled = ((_ALL - zero) * multiplier + (1 << (shift - 1))) >> shift  # TOSA 1.0, apply_scale_32
    return (scaled + new_zero).clip(-128, 127)


_FUNCTIONS = "TABLE|RESCALE|CLAMP"
MERGE_TABLES = pattern_rewrite(
    "merge_tables",
    Stage.OPTIMIZE,
    Pattern(_FUNCTIONS, {0: Pattern(_FUNCTIONS, name="inner", alone=True)}),
    _merged,
    _check,
)
