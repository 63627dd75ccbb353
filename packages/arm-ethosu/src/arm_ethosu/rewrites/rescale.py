"""RESCALE where Vela computes another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import ASSEMBLED, VIEWS
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage
from arm_tosa_core.tosa.scaling import is_by_one, multiplier_and_shift

from .max_pool_copies import POOLABLE, copied, plus_zero

#: Of a RESCALE with a multiplier of 16 bits: 15 of them, shifted right by 2 at least.
_LARGEST_FACTOR = 2.0**13


def _scales(rescale: Op) -> np.ndarray[Any, Any]:
    """What a RESCALE multiplies by: one number, or one for each channel."""
    multiplier, shift = (rescale.inputs[i].data for i in (1, 2))
    assert multiplier is not None and shift is not None
    return np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64))


def _not_one(match: Match) -> str | None:
    op, inner = match.op, match["inner"]
    if inner.inputs[0].dtype is not DType.INT48 or op.attrs["input_unsigned"]:
        return "it does not come from INT48"
    if any(zero.data is None or zero.data.any() for zero in (inner.inputs[4], op.inputs[3])):
        return "there is a zero point between the two"
    narrowed = op.output.dtype is not DType.INT32 and _scales(op).max() <= 1
    as_vela = is_by_one(inner) and op.attrs["scale32"]
    if inner.output.dtype is not DType.INT32 or not (narrowed or as_vela):
        return "Vela leaves the two as they are, and what the first one rounds or saturates can be seen"
    return None if (_scales(inner) * _scales(op)).max() < _LARGEST_FACTOR else "16 bits do not hold the factor"


def _one_rescale(match: Match) -> Tensor:
    """Of two RESCALEs, from INT48 to INT32 and by less than 1, one of 16 bits is made; to INT32, zero is added between.

    If the first one is by 1, Vela makes one of them too, but keeps 15 bits of the second one's multiplier of 32: the
    lowest ones. If not, one is faster; its results differ by one step at most, which is what the first one rounds.
    """
    op, inner, graph = match.op, match["inner"], match.graph
    if op.output.dtype is DType.INT32:
        return match.insert.like(op, plus_zero(match.insert, inner.output), *op.inputs[1:])
    factors = _scales(inner) * _scales(op)
    sums, factors = _exact_sums(match, inner.inputs[0], factors)
    multiplier, shift = multiplier_and_shift(factors.tolist(), 16)
    scales = (graph.constant(multiplier, DType.INT16), graph.constant(shift, DType.INT8))
    attrs = {**op.attrs, "scale32": False, "per_channel": factors.size > 1}
    return match.insert("RESCALE", sums, *scales, inner.inputs[3], op.inputs[4], **attrs)


def _exact_sums(match: Match, sums: Tensor, factors: np.ndarray[Any, Any]) -> tuple[Tensor, np.ndarray[Any, Any]]:
    """Sums by a convolution with ones, times a number whose quotient with the factor 16 bits hold best.

    Of a factor that is not held exactly, the largest sums are a step off, and what divides by them many.
    """
    conv = sums.producer
    if conv is None or conv.name != "DEPTHWISE_CONV2D" or len(sums.uses) > 1 or factors.size > 1:
        return sums, factors
    ones, *zeros = (tensor.data for tensor in conv.inputs[1:])
    if ones is None or (ones != 1).any() or any(zero is None or zero.any() for zero in zeros):
        return sums, factors
    numbers = np.arange(1, 128)
    multiplier, shift = multiplier_and_shift((factors / numbers).tolist(), 16)
    held = np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64)) * numbers
    number = int(numbers[np.abs(held - factors).argmin()])
    weights = match.graph.constant(ones * np.int8(number), conv.inputs[1].dtype)
    return match.insert.like(conv, conv.inputs[0], weights, *conv.inputs[2:]), factors / number


def _not_narrow(match: Match) -> str | None:
    op, narrow = match.op, match.tensor("source")
    zero = op.inputs[3].data
    if op.output.dtype.bits <= narrow.dtype.bits or zero is None or zero.any() or op.attrs["input_unsigned"]:
        return "it does not widen alone"
    if op.output not in match.graph.outputs and all(use.name in ("ADD", "SUB") for use in op.output.uses):
        return "Vela makes the RESCALE part of a sum"
    return None


def _cast_to_int32(match: Match) -> Tensor:
    """A CAST or MAX_POOL2D whose result a RESCALE widens goes to INT32 first.

    Vela makes one operation of the two for Ethos-U85, which saturates to the narrower type. It does not where it makes
    the RESCALE part of the sum behind it, nor where there is a zero point.
    """
    op, source, insert = match.op, match["source"], match.insert
    from_ = source.inputs[0] if source.name == "CAST" else match.tensor("source")
    wide = Inserter(match.graph, op, source.origin)("CAST", from_, output_dtype=DType.INT32)
    wide = insert.reshape(wide, *op.inputs[0].shape)
    return insert.like(op, wide, *op.inputs[1:3], insert.zero(DType.INT32), op.inputs[4])


def _not_resized(match: Match) -> str | None:
    op = match.op
    if op.inputs[0].dtype is op.output.dtype:
        return "it is not from 8 bits to 16 or back"
    return "there are zero points" if any(z.data is None or z.data.any() for z in op.inputs[3:5]) else None


def _other_zeros(match: Match) -> Mapping[int, Tensor]:
    """A RESCALE by 1 from INT8 to UINT8 has other zero points, by as much, than the operator before it.

    Where they are the same, Vela makes one operation of the two, which saturates to what is in both types, 0 to 127.
    """
    op, graph = match.op, match.graph
    zeros, producer = {0}, op.inputs[0].producer
    while producer is not None and producer.name in _HANDED_ON:
        producer = producer.inputs[0].producer
    if producer is not None and producer.name == "RESCALE" and producer.inputs[4].data is not None:
        zeros.add(int(producer.inputs[4].data.item()))
    shift = next(zero for zero in (1, 2) if zero not in zeros)
    moved = {3: (shift, np.int8, DType.INT8), 4: (128 + shift, np.uint8, DType.UINT8)}
    return {place: graph.constant(np.array([zero], kind), dtype) for place, (zero, kind, dtype) in moved.items()}


def _has_other_zeros(match: Match) -> str | None:
    zero_in, zero_out = (zero.data for zero in match.op.inputs[3:5])
    if zero_in is None or zero_out is None or zero_in.any() or int(zero_out.item()) != 1 << 7:
        return "it has other zero points"
    return None


_HANDED_ON = {*VIEWS, *ASSEMBLED, "CLAMP", "MAX_POOL2D", "REVERSE", "TRANSPOSE"}
_TO_UNSIGNED = Pattern("RESCALE", {0: Pattern(dtype=DType.INT8)}, attrs={"output_unsigned": True}, where=is_by_one)
_OF_RESCALE = Pattern("RESCALE", {0: Pattern("RESCALE", name="inner", alone=True)})
_OF_PARTS = Pattern("RESCALE", {0: Pattern("|".join(ASSEMBLED), dtype=POOLABLE)}, attrs={"per_channel": True})
_OF_NARROW = Pattern(
    "RESCALE", {0: Pattern("CAST|MAX_POOL2D", {}, "source", dtype=set(DType) - {DType.INT32}, through=("RESHAPE",))}
)
_OF_RESIZE = Pattern("RESCALE", {0: Pattern("RESIZE", dtype=POOLABLE, through=VIEWS)}, dtype=POOLABLE, where=is_by_one)

ONE_RESCALE = pattern_rewrite(
    "one_rescale_from_int48", Stage.LEGALIZE, _OF_RESCALE, _one_rescale, _not_one, rounds=True
)
# Vela rescales the parts instead, each with the scales of the first channels.
SCALES_OF_PARTS = copied(
    "scales_of_parts",
    _OF_PARTS,
    "A RESCALE by channel goes through a pool after channels were joined, padded or repeated.",
)
CAST_TO_INT32 = pattern_rewrite("wide_copy", Stage.LEGALIZE, _OF_NARROW, _cast_to_int32, _not_narrow)
# Without zero points, Vela leaves the RESCALE out, and reads tensors of one width as if they had the other.
RESIZED_U55 = copied(
    "resized",
    _OF_RESIZE,
    "What a RESIZE made goes through a pool before a RESCALE by 1 gives it the other of 8 and 16 bits.",
    _not_resized,
)
UNSIGNED_APART = pattern_rewrite("unsigned_apart", Stage.LEGALIZE, _TO_UNSIGNED, _other_zeros, _has_other_zeros)
