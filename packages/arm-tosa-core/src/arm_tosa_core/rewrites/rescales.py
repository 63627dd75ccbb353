"""RESCALEs before moves of data, so that wide accumulators are never stored, and beside another that changes a sign."""

from __future__ import annotations

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.pattern import Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Stage
from ..tosa.scaling import is_by_one


def _check(match: Match) -> str | None:
    op, mover = match.op, match["mover"]
    if op.output.dtype.bits >= op.inputs[0].dtype.bits:
        return "it does not make the numbers narrower"
    if op.attrs["output_unsigned"]:
        return "only RESCALE takes unsigned numbers"
    if op.attrs["per_channel"] and mover.name != "CONCAT" and not _keeps_channels(mover):
        return "the channels it rescales are moved"
    return None


def _keeps_channels(mover: Op) -> bool:
    if mover.name == "TRANSPOSE":
        return bool(mover.attrs["perms"][-1] == mover.output.rank - 1)
    return mover.output.rank > 0 and mover.inputs[0].shape[-1:] == mover.output.shape[-1:]


def _swapped(match: Match) -> Tensor:
    """A RESCALE that makes numbers narrower comes before operators that move them."""
    op, mover = match.op, match["mover"]
    if mover.name == "CONCAT":
        return _before_concat(match)
    insert = match.before("mover")
    return insert.like(mover, insert.like(op, mover.inputs[0], *op.inputs[1:]), *mover.inputs[1:])


def _before_concat(match: Match) -> Tensor:
    """Each part is rescaled by its own share of the multipliers."""
    op, concat, insert = match.op, match["mover"], match.before("mover")
    along = concat.attrs["axis"] == concat.output.rank - 1
    parts: list[Tensor] = []
    start = 0
    for part in concat.inputs:
        scales = list(op.inputs[1:3])
        per_channel = op.attrs["per_channel"]
        if per_channel and along:
            stop = start + part.shape[-1]
            share = [(s.data[start:stop], s.dtype) for s in scales if s.data is not None]
            if all((numbers == numbers[0]).all() for numbers, _ in share):
                share = [(numbers[:1], dtype) for numbers, dtype in share]
                per_channel = False
            scales = [match.graph.constant(np.ascontiguousarray(numbers), dtype) for numbers, dtype in share]
            start = stop
        parts.append(insert.like(op, part, *scales, *op.inputs[3:], per_channel=per_channel))
    return insert.like(concat, *parts)


RESCALE_FIRST = pattern_rewrite(
    "rescale_first",
    Stage.OPTIMIZE,
    Pattern("RESCALE", {0: Pattern("RESHAPE|TRANSPOSE|CONCAT", name="mover", alone=True)}),
    _swapped,
    _check,
)


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
    zeros = [int(zero.data[0]) for zero in op.inputs[3:] if zero.data is not None]
    return is_by_one(op) and len(zeros) == 2 and abs(zeros[0] - zeros[1]) == 128


def _check_signs(match: Match) -> str | None:
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
    "merge_signs", Stage.OPTIMIZE, Pattern("RESCALE", {0: Pattern("RESCALE", name="inner")}), _merged, _check_signs
)
