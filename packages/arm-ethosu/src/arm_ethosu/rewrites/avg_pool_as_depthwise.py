"""Averages of overlapping windows as depthwise convolutions, for which Vela estimates a third of a pool's cycles."""

from __future__ import annotations

from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.scaling import reciprocal

from ..native.pools import windows_as_rows

#: How often windows read an element from which on a convolution is faster: measured, on Ethos-U55-128 and U85-256.
_OVERLAP = 2


def _padded(image: Tensor, zero: int, kernel: tuple[int, int]) -> tuple[Tensor, tuple[int, ...]]:
    """An image without the PAD that put zeros around it, and that padding: top, bottom, left, right."""
    pad = image.producer
    if pad is None or pad.name != "PAD" or len(image.uses) > 1:
        return image, (0, 0, 0, 0)
    amounts, number = pad.inputs[1].data, pad.inputs[2].data
    if amounts is None or number is None or int(number.reshape(-1)[0]) != zero:
        return image, (0, 0, 0, 0)
    batch, rows, columns, channels = amounts.reshape(4, 2).tolist()
    if any(batch + channels) or max(rows) >= kernel[0] or max(columns) >= kernel[1]:
        return image, (0, 0, 0, 0)
    return pad.inputs[0], (*rows, *columns)


def _unfit(match: Match) -> str | None:
    op = match.op
    if windows_as_rows(op) is not None:
        return "`rows_of_windows` makes another convolution of it"
    reads = op.output.size * prod(op.attrs["kernel"]) / op.inputs[0].size
    return "it has padding of its own, or little overlap" if any(op.attrs["pad"]) or reads < _OVERLAP else None


def _average_as_depthwise(match: Match) -> Tensor:
    """An average over windows that overlap becomes a depthwise convolution with ones, and a RESCALE by the same factor.

    A PAD before it becomes padding of the convolution. Padding of a pool does not count, which no one factor can say.
    """
    op = match.op
    image, in_zero, out_zero = op.inputs
    assert in_zero.data is not None
    height, width = op.attrs["kernel"]
    source, pad = _padded(image, int(in_zero.data[0]), (height, width))
    insert, ones = match.insert, np.ones((height, width, image.shape[3], 1), np.int8)
    total = insert.convolve("DEPTHWISE_CONV2D", source, ones, op.attrs["stride"], pad, in_zero)
    return insert.rescale(total, DType.INT8, reciprocal(height * width), out_zero)


AVERAGE_AS_DEPTHWISE = pattern_rewrite(
    "average_as_depthwise",
    Stage.LEGALIZE,
    Pattern("AVG_POOL2D", {0: Pattern(dtype=DType.INT8), 1: Pattern(constant=True)}),
    _average_as_depthwise,
    _unfit,
)
