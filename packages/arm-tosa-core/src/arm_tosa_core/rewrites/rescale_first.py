"""A narrowing RESCALE goes before operators that only move data, so that the wide accumulator is never stored.

``CONV2D, RESHAPE, RESCALE`` becomes ``CONV2D, RESCALE, RESHAPE``: compilers fuse the first two, and 8 bits move instead
of 32.
"""

from __future__ import annotations

import numpy as np

from ..tosa.ir import Op, Tensor
from ..tosa.pattern import Match, Pattern, pattern_rewrite
from ..tosa.rewrite import Stage


def _check(match: Match) -> str | None:
    op, mover = match.op, match["mover"]
    if op.output.dtype.bits >= op.inputs[0].dtype.bits:
        return "it does not make the numbers narrower"
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
