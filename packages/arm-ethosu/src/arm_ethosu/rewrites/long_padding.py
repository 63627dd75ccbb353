"""Padding that is longer than the registers for it: Vela shortens it without a word."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..constraints import longer_padding


def _short(match: Match) -> str | None:
    return "its padding fits the registers" if longer_padding(match.op) is None else None


def padded_before(match: Match) -> Tensor:
    """Padding of more than 127 at top or left, or 255 at bottom or right, becomes a PAD before the kernel.

    Vela writes the most into the register instead, and the windows then read other elements, or beyond the image.
    """
    op, insert = match.op, match.insert
    top, bottom, left, right = op.attrs["pad"]
    image, *rest = op.inputs
    edge = _lowest(match) if op.name == "MAX_POOL2D" else rest[2]  # a convolution's: its input's zero point
    padded = insert("PAD", image, match.graph.shape((0, 0, top, bottom, left, right, 0, 0)), edge)
    return insert(op.name, padded, *rest, **{**op.attrs, "pad": (0, 0, 0, 0)})


def _lowest(match: Match) -> Tensor:
    image = match.op.inputs[0]
    numbers = np.iinfo(f"int{image.dtype.bits}")
    return match.graph.constant(np.array([numbers.min], numbers.dtype), image.dtype)


LONG_PADDING = pattern_rewrite(
    "long_padding", Stage.LEGALIZE, Pattern("CONV2D|DEPTHWISE_CONV2D|MAX_POOL2D"), padded_before, _short
)
