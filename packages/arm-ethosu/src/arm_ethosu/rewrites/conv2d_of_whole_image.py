"""Convolutions of a part of an image: where a part is read, Vela lays out the image in rows, which are slow to read."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

#: What it must gain: others that read the image are faster or slower with it, too, which the estimate does not see.
_MARGIN = 0.05
#: How many times as large windows may become; 1x1 with a stride of 2 becomes 2x2.
_GROWTH = 4


def _cut_off(match: Match) -> tuple[int, int]:
    """The rows and columns that the SLICE cuts off at the end."""
    whole, part = match["slice"].inputs[0].shape, match.op.inputs[0].shape
    return whole[1] - part[1], whole[2] - part[2]


def _unfit(match: Match) -> str | None:
    op, cut = match.op, match["slice"]
    if not (cut.inputs[1].is_constant and op.inputs[1].is_constant and op.inputs[4].is_constant):
        return "its weights, or what is cut off, vary"
    whole, part, start = cut.inputs[0].shape, cut.output.shape, cut.inputs[1].data
    assert start is not None
    if any(start) or (whole[0], whole[3]) != (part[0], part[3]):
        return "more is cut off than rows and columns at the end"
    more, pad = _cut_off(match), op.attrs["pad"]
    if op.attrs["dilation"] != (1, 1) or (more[0] and pad[1]) or (more[1] and pad[3]):
        return "windows reach padding in place of what is cut off, or are dilated"
    if any(rows >= step for rows, step in zip(more, op.attrs["stride"], strict=True)):
        return "whole steps of windows are cut off"
    height, width = op.inputs[1].shape[1:3]
    few = (height + more[0]) * (width + more[1]) <= _GROWTH * height * width
    return None if few else "windows would become too large"


def _of_whole(match: Match) -> Tensor:
    """A convolution reads the rows and columns that were cut off, because no window reached them, with weights of zero.

    1x1 with a stride of 2 over an even size becomes 2x2. Vela then keeps the image in bricks.
    """
    op, (rows, columns) = match.op, _cut_off(match)
    _, weight, bias, zero, weight_zero = op.inputs
    assert weight.data is not None and weight_zero.data is not None
    around = ((0, 0), (0, rows), (0, columns), (0, 0))
    windows = np.pad(weight.data, around, constant_values=weight_zero.data[0])
    kernel = match.graph.constant(windows, weight.dtype)
    return match.insert("CONV2D", match["slice"].inputs[0], kernel, bias, zero, weight_zero, **op.attrs)


WHOLE_IMAGE = Choice(
    "convolution_of_whole_image",
    Pattern("CONV2D", {0: Pattern("SLICE", name="slice")}),
    _of_whole,
    _unfit,
    margin=_MARGIN,
)
