"""Shifts, and integers of which TOSA drops bits: Ethos-U saturates the upper ones, and rounds the lower ones."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage

_INTEGERS = (DType.INT8, DType.INT16, DType.INT32)
_LEAST = -(1 << 31)


def _not_narrowing(match: Match) -> str | None:
    x, y = match.op.inputs[0].dtype, match.op.output.dtype
    return None if x in _INTEGERS and y in _INTEGERS and y.bits < x.bits else "it keeps all bits"


def _narrowed(match: Match) -> Tensor:
    """A CAST to fewer bits becomes shifts in INT32, left and back.

    Ethos-U saturates where TOSA drops the upper bits.
    """
    op, insert = match.op, match.insert
    bits = insert.int32(DType.INT32.bits - op.output.dtype.bits, op.output.rank)
    upper = insert("LOGICAL_LEFT_SHIFT", _wide(insert, op.inputs[0]), bits)
    # The bits that the second shift drops are 0: there is nothing to round, which Ethos-U55 and U65 always do.
    return insert.rescale(insert("ARITHMETIC_RIGHT_SHIFT", upper, bits, round=True), op.output.dtype)


def _wide_enough(match: Match) -> str | None:
    return "it is of INT32" if match.op.output.dtype is DType.INT32 else None


def _shifted(match: Match) -> Tensor:
    """A left shift of few bits is one of INT32, cast back: Ethos-U85 saturates, the others have none."""
    insert = match.insert
    wide = insert("LOGICAL_LEFT_SHIFT", *(_wide(insert, x) for x in match.op.inputs))
    return insert("CAST", wide, output_dtype=match.op.output.dtype)


def _rounds(match: Match) -> str | None:
    return "it rounds" if match.op.attrs["round"] else None


def _floored(match: Match) -> Tensor:
    """A right shift without rounding is one with it, of a number that is less by half a step, in INT32.

    Ethos-U55 and U65 always round: (x - h + h) >> n, where h = 2^(n-1), and 0 for n = 0.
    """
    op, insert = match.op, match.insert
    x, bits = (_wide(insert, operand) for operand in op.inputs)

    def number(value: int) -> Tensor:
        return insert.int32(value, op.output.rank)

    if bits.data is not None:
        steps = bits.data.astype(np.int64)
        half = match.graph.constant(((1 << steps) >> 1).astype(np.int32), DType.INT32)
    else:
        before = insert("MAXIMUM", insert("SUB", bits, number(1)), number(0))
        half = insert("LOGICAL_LEFT_SHIFT", insert("MINIMUM", bits, number(1)), before)
    if op.output.dtype is DType.INT32:  # the least numbers, whose result is the same, make room for the difference
        x = insert("MAXIMUM", x, insert("ADD", half, number(_LEAST)))
    shifted = insert("ARITHMETIC_RIGHT_SHIFT", insert("SUB", x, half), bits, round=True)
    return shifted if op.output.dtype is DType.INT32 else insert.rescale(shifted, op.output.dtype)


def _wide(insert: Inserter, x: Tensor) -> Tensor:
    if x.dtype is DType.INT32:
        return x
    if x.data is not None:
        return insert.graph.constant(x.data.astype(np.int32), DType.INT32)
    return insert("CAST", x, output_dtype=DType.INT32)


NARROWED = pattern_rewrite("narrowed_by_shifts", Stage.LEGALIZE, Pattern("CAST"), _narrowed, _not_narrowing)
SHIFTED = pattern_rewrite("shifted_in_32_bits", Stage.LEGALIZE, Pattern("LOGICAL_LEFT_SHIFT"), _shifted, _wide_enough)
FLOORED = pattern_rewrite("floored_by_rounding", Stage.LEGALIZE, Pattern("ARITHMETIC_RIGHT_SHIFT"), _floored, _rounds)
