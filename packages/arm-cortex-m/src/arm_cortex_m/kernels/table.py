"""Operators in a row that make a number of int8 of one: a table of 256."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from .call import Call
from .chain import Chains, numbers
from .rescale import zero_points

_Array = np.ndarray[Any, Any]
_Numbers = list[int]


def table(op: Op, chains: Chains) -> Call | None:
    """The call for an operator and those behind it of which each result depends on one number; None: not of int8."""
    if op.inputs[0].dtype is not DType.INT8:
        return None
    values: _Numbers | None = list(range(-128, 128))
    ops: list[Op] = []
    found: tuple[tuple[Op, ...], _Numbers] | None = None
    each: Op | None = op
    source = op.inputs[0]
    while each is not None and values is not None and each.output.shape == op.output.shape:
        values = results(each, source, values)
        ops.append(each)
        source = each.output
        if values is not None and source.dtype is DType.INT8:
            found = tuple(ops), values
        each = chains.only_reader(source)
    if found is None or op.inputs[0].shape != op.output.shape:
        return None
    fields: dict[str, int | _Array] = {"count": op.output.size, "table": np.array(found[1], np.int8)}
    return Call(found[0], "tosa_table_s8", "tosa_table_s8.c", fields, (op.inputs[0],))


def results(op: Op, source: Tensor, values: _Numbers) -> _Numbers | None:
    """The results of an operator, of numbers in the place of an operand; None: it is none of these."""
    others = [tensor for tensor in op.inputs if tensor is not source]
    if len(others) + 1 != len(op.inputs) or not all(tensor.is_constant for tensor in others):
        return None
    return _OPERATORS[op.name](op, source, values) if op.name in _OPERATORS else None


def _rescale(op: Op, source: Tensor, values: _Numbers) -> _Numbers | None:
    unsigned = op.attrs["input_unsigned"] or op.attrs["output_unsigned"]
    if (
        unsigned
        or not op.attrs["scale32"]
        or op.attrs["rounding_mode"] == "INEXACT_ROUND"
        or source is not op.inputs[0]
    ):
        return None
    if (op.attrs["per_channel"] and op.inputs[1].size > 1) or op.output.dtype not in (DType.INT8, DType.INT32):
        return None
    multiplier, shift = (int(numbers(op.inputs[position])[0]) for position in (1, 2))
    before, after = zero_points(op)
    least, most = (-128, 127) if op.output.dtype is DType.INT8 else (-(2**31), 2**31 - 1)
    out = []
    for value in values:
        nudge = 1 << (shift - 1)
        if op.attrs["rounding_mode"] == "DOUBLE_ROUND" and shift > 31:
            nudge += 1 << 30 if value >= before else -(1 << 30)
        result = ((value - before) * multiplier + nudge >> shift) + after
        out.append(min(max(result, least), most))
    return out


def _table(op: Op, _: Tensor, values: _Numbers) -> _Numbers | None:
    if op.output.dtype is not DType.INT8:
        return None
    entries = numbers(op.inputs[1]).tolist()
    return [entries[value + 128] for value in values]


def _clamp(op: Op, _: Tensor, values: _Numbers) -> _Numbers | None:
    least, most = int(op.attrs["min_val"]), int(op.attrs["max_val"])
    return [min(max(value, least), most) for value in values]


def _with_constant(result: Callable[[int, int], int]) -> Callable[[Op, Tensor, _Numbers], _Numbers | None]:
    """Of an operator of int32 with a constant of one element."""

    def made(op: Op, source: Tensor, values: _Numbers) -> _Numbers | None:
        first = source is op.inputs[0]
        other = op.inputs[1] if first else op.inputs[0]
        if (
            source.dtype is not DType.INT32
            or other.size != 1
            or (len(op.inputs) == 3 and int(numbers(op.inputs[2])[0]))
        ):
            return None
        constant = int(numbers(other)[0])
        out = [result(value, constant) if first else result(constant, value) for value in values]
        return out if all(-(2**31) <= value < 2**31 for value in out) else None

    return made


_OPERATORS: Mapping[str, Callable[[Op, Tensor, _Numbers], _Numbers | None]] = {
    "ADD": _with_constant(lambda a, b: a + b),
    "CLAMP": _clamp,
    "MAXIMUM": _with_constant(max),
    "MINIMUM": _with_constant(min),
    "MUL": _with_constant(lambda a, b: a * b),
    "RESCALE": _rescale,
    "SUB": _with_constant(lambda a, b: a - b),
    "TABLE": _table,
}
#: Operators that such a row may begin with: those that take int8.
FIRST = ("CLAMP", "RESCALE", "TABLE")
