"""RESCALE where Vela computes another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.scaling import is_by_one, multiplier_and_shift

from .max_pool_copies import is_poolable, through_pool

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
        zero = graph.constant(np.zeros((1,) * inner.output.rank, np.int32), DType.INT32)
        return match.insert("RESCALE", match.insert("ADD", inner.output, zero), *op.inputs[1:], **op.attrs)
    factors = _scales(inner) * _scales(op)
    multiplier, shift = multiplier_and_shift(factors.tolist(), 16)
    scales = (graph.constant(multiplier, DType.INT16), graph.constant(shift, DType.INT8))
    attrs = {**op.attrs, "scale32": False, "per_channel": factors.size > 1}
    return match.insert("RESCALE", inner.inputs[0], *scales, inner.inputs[3], op.inputs[4], **attrs)


def _not_by_channel(match: Match) -> str | None:
    return None if match.op.attrs["per_channel"] and is_poolable(match.op.inputs[0]) else "one scale for all channels"


def _scales_of_parts(match: Match) -> Mapping[int, Tensor]:
    """A RESCALE by channel goes through a pool after channels were joined, padded or repeated.

    Vela rescales the parts instead, each with the scales of the first channels.
    """
    return {0: through_pool(match.graph, match.op, match.op.inputs[0])}


def _cast_to_int32(graph: Graph, op: Op) -> bool:
    """A CAST or MAX_POOL2D whose result a RESCALE widens goes to INT32 first.

    Vela makes one operation of the two for Ethos-U85, which saturates to the narrower type. It does not where it makes
    the RESCALE part of the sum behind it, nor where there is a zero point.
    """
    narrow, reshape = op.inputs[0], op.inputs[0].producer
    if reshape is not None and reshape.name == "RESHAPE":
        narrow = reshape.inputs[0]
    source = narrow.producer
    if source is None or source.name not in ("CAST", "MAX_POOL2D") or narrow.dtype is DType.INT32:
        return False
    zero = op.inputs[3].data
    if op.output.dtype.bits <= narrow.dtype.bits or zero is None or zero.any() or op.attrs["input_unsigned"]:
        return False
    if op.output not in graph.outputs and all(use.name in ("ADD", "SUB") for use in op.output.uses):
        return False
    insert = Inserter(graph, op)
    from_ = source.inputs[0] if source.name == "CAST" else narrow
    wide = graph.insert_before(op, "CAST", [from_], {"output_dtype": DType.INT32}, source.origin).output
    wide = insert.reshape(wide, *op.inputs[0].shape)
    operands = [wide, *op.inputs[1:3], graph.constant(np.zeros(1, np.int32), DType.INT32), op.inputs[4]]
    graph.replace(op.output, insert("RESCALE", *operands, **op.attrs))
    return True


def _not_resized(match: Match) -> str | None:
    op, source = match.op, match.op.inputs[0]
    while source.producer is not None and source.producer.name in ("RESHAPE", "TRANSPOSE"):
        source = source.producer.inputs[0]
    if source.producer is None or source.producer.name != "RESIZE":
        return "it is not of a RESIZE"
    narrow = is_poolable(op.inputs[0]) and is_poolable(op.output) and op.inputs[0].dtype is not op.output.dtype
    if not narrow or not is_by_one(op):
        return "it is not by 1, from 8 bits to 16 or back"
    return "there are zero points" if any(z.data is None or z.data.any() for z in op.inputs[3:5]) else None


def _resized(match: Match) -> Mapping[int, Tensor]:
    """What a RESIZE made goes through a pool before a RESCALE by 1 gives it the other of 8 and 16 bits.

    Without zero points, Vela leaves the RESCALE out, and reads tensors of one width as if they had the other.
    """
    return {0: through_pool(match.graph, match.op, match.op.inputs[0])}


_OF_RESCALE = Pattern("RESCALE", {0: Pattern("RESCALE", name="inner", alone=True)})
ONE_RESCALE = pattern_rewrite("one_rescale_from_int48", Stage.LEGALIZE, _OF_RESCALE, _one_rescale, _not_one)
SCALES_OF_PARTS = pattern_rewrite(
    "scales_of_parts",
    Stage.LEGALIZE,
    Pattern("RESCALE", {0: Pattern("CONCAT|PAD|TILE")}),
    _scales_of_parts,
    _not_by_channel,
)
CAST_TO_INT32 = Rewrite("wide_copy", Stage.LEGALIZE, ("RESCALE",), _cast_to_int32)
RESIZED_U55 = pattern_rewrite(
    "resized", Stage.LEGALIZE, Pattern("RESCALE"), _resized, _not_resized, frozenset(("RESHAPE", "TRANSPOSE"))
)
