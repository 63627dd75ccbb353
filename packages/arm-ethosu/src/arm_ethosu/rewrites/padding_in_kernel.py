"""Padding by an operator of its own becomes that of the convolution behind it, which costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..limits import MAX_PADDING


def _check(match: Match) -> str | None:
    op, pad = match.op, match["pad"]
    zero = op.inputs[3].data
    amounts, number = (tensor.data for tensor in pad.inputs[1:3])
    if amounts is None or number is None or zero is None or int(number.item()) != int(zero.item()):
        return "it does not pad with zeros"
    if any(amounts[:2]) or any(amounts[6:]):
        return "it pads images or channels"
    joined = _joined(op, amounts)
    if any(size > most for size, most in zip(joined, MAX_PADDING, strict=True)):
        return "its padding is longer than the registers take"
    if any(size >= reach for size, reach in zip(joined, _reaches(op), strict=True)):
        return "a window would see nothing but padding"
    return None


def _joined(op: Op, amounts: np.ndarray[Any, Any]) -> list[int]:
    """Padding at the top, bottom, left and right: that of both."""
    return [int(own) + int(more) for own, more in zip(op.attrs["pad"], amounts[2:6], strict=True)]


def _reaches(op: Op) -> list[int]:
    """Of a window, on the same four sides."""
    height, width = (op.inputs[1].shape[i] for i in ((0, 1) if op.name == "DEPTHWISE_CONV2D" else (1, 2)))
    down, right = op.attrs["dilation"]
    return [down * (height - 1) + 1] * 2 + [right * (width - 1) + 1] * 2


def _convolution(match: Match) -> Tensor:
    """A PAD with zeros in front of a convolution becomes its padding: Vela copies the image for it."""
    op, pad = match.op, match["pad"]
    assert pad.inputs[1].data is not None
    padding = tuple(_joined(op, pad.inputs[1].data))
    return match.insert.like(op, pad.inputs[0], *op.inputs[1:], pad=padding)


PADDING_IN_KERNEL = pattern_rewrite(
    "padding_in_kernel",
    Stage.LEGALIZE,
    Pattern("CONV2D|DEPTHWISE_CONV2D", {0: Pattern("PAD", name="pad")}),
    _convolution,
    _check,
)
