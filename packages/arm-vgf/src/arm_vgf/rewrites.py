"""Rewrites for VGF: operators that change nothing, and constructs that the model converter or the emulation layer 0.11
computes otherwise than TOSA."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage


def _several(match: Match) -> str | None:
    size = match.op.inputs[0].shape[match.op.attrs["axis"]]
    return None if size == 1 else f"there are {size} elements to choose from"


def _argmax_of_one(match: Match) -> Tensor:
    """An ARGMAX over one element is 0. The emulation layer leaves the output as it was.

    It does so with outputs that are constants, too; the converter folds sums, but no absolute values.
    """
    return match.insert("ABS", match.graph.constant(np.zeros(match.op.output.shape, np.int32), DType.INT32))


def _not_zero_by_itself(match: Match) -> str | None:
    a, b = match.op.inputs[:2]
    if not match.op.output.dtype.is_float:
        return "integers are finite"
    if match.op.name == "SUB":
        return None if a is b else "two tensors differ"
    zero = next((i for i, t in enumerate((a, b)) if t.data is not None and not t.data.any()), None)
    return "no factor is zero" if zero is None or (a, b)[1 - zero].is_constant else None


def _zero_unless_not_finite(match: Match) -> Tensor:
    """``x - x`` and ``x * 0`` are NaN where x is inf or NaN. The model converter makes zeros of both."""
    x = next(t for t in match.op.inputs if not t.is_constant)
    zero_point = match.graph.constant(np.zeros(1, numpy_dtype(x.dtype)), x.dtype)
    result = match.insert("ADD", x, match.insert("NEGATE", x, zero_point, zero_point))
    if result.shape == match.op.output.shape:
        return result
    zeros = match.graph.constant(np.zeros(match.op.output.shape, numpy_dtype(x.dtype)), x.dtype)
    return match.insert("ADD", result, zeros)


#: The neutral number of an operator: as its second operand, or as either if it is commutative.
_NEUTRAL = {"ADD": 0, "SUB": 0, "MUL": 1}


def _kept(match: Match) -> Tensor | None:
    """The operand that a sum with zeros, or a product with ones, is."""
    pairs = [match.op.inputs[:2]] if match.op.name == "SUB" else [match.op.inputs[:2], match.op.inputs[1::-1]]
    neutral, result = _NEUTRAL[match.op.name], match.op.output
    same = (x for x, y in pairs if not x.is_constant and y.data is not None and bool((y.data == neutral).all()))
    return next((x for x in same if (x.shape, x.dtype) == (result.shape, result.dtype) and result.dtype.is_float), None)


def _no_change(match: Match) -> Tensor:
    """The model converter drops such operators itself. At sizes that vary no tool may: a result needs an operator."""
    operand = _kept(match)
    assert operand is not None
    return operand


def _changes(match: Match) -> str | None:
    return "it changes numbers" if _kept(match) is None else None


def _long(shape: tuple[int, ...]) -> list[int]:
    """The axes of more than one element."""
    return [axis for axis, size in enumerate(shape) if size > 1]


def _other_axes(match: Match) -> str | None:
    x, view = match["view"].inputs[0].shape, match["view"].output.shape
    same = [x[axis] for axis in _long(x)] == [view[axis] for axis in _long(view)]
    return None if same and match.op.output.dtype.is_integer else "it changes more than axes of one element"


def _before_view(match: Match) -> Tensor:
    """Axes of one element are added or taken away after a TRANSPOSE, not before it.

    The neural accelerator computes the RESHAPE as one with what reads it then; before a TRANSPOSE it is a copy.
    """
    x, view = match["view"].inputs[0], match["view"].output.shape
    places = dict(zip(_long(view), _long(x.shape), strict=True))
    moved = [places[axis] for axis in match.op.attrs["perms"] if axis in places]
    ones = [axis for axis in range(x.rank) if axis not in moved]
    return match.insert.reshape(match.insert("TRANSPOSE", x, perms=(*ones, *moved)), *match.op.output.shape)


REWRITES = (
    pattern_rewrite(
        "transpose_before_view_of_ones",
        Stage.OPTIMIZE,
        Pattern("TRANSPOSE", {0: Pattern("RESHAPE", name="view", alone=True)}),
        _before_view,
        _other_axes,
    ),
    *(
        pattern_rewrite(f"drop-neutral-{op.lower()}", Stage.OPTIMIZE, Pattern(op), _no_change, _changes)
        for op in _NEUTRAL
    ),
    pattern_rewrite("argmax-of-one", Stage.LEGALIZE, Pattern("ARGMAX"), _argmax_of_one, _several),
    *(
        pattern_rewrite(name, Stage.LEGALIZE, Pattern(op), _zero_unless_not_finite, _not_zero_by_itself)
        for name, op in (("difference-of-itself", "SUB"), ("product-with-zero", "MUL"))
    ),
)
