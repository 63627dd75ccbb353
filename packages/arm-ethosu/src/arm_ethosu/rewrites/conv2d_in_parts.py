"""Convolutions with many weights as several, so that the weights of some can be prefetched where all have no room.

Not in the catalogue: alone it gains nothing. ``schedule.compilation`` keeps it where the schedule of the whole gains.
"""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

_TOGETHER = 16  # channels: a block of a result has a multiple of it
#: Readers for which Vela lays parts of a tensor into it; for others it makes copies, or something else than TOSA says.
_READERS = ("AVG_POOL2D", "CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D")


def conv2d_in_parts(most: int) -> Rewrite:
    """For weights of more than ``most`` bytes: parts have that many at most, but whole blocks of channels."""

    def unfit(match: Match) -> str | None:
        weight = match["convolution"].inputs[1]
        if weight.data is None or _step(weight, most) >= weight.shape[0]:
            return "its weights vary, or are few"
        if any(tensor.data is None for tensor in (match["convolution"].inputs[2], *match.op.inputs[1:3])):
            return "its bias or its scale varies"
        readers = [reader for use in match.op.output.uses for reader in _readers(use)]
        return None if all(op.name in _READERS for op in readers) else "its parts would be copied together"

    def in_parts(match: Match) -> Tensor:
        """A convolution with many weights is one for each part of its output channels, and their CONCAT."""
        convolution, rescale = match["convolution"], match.op
        image, weight, bias, *zeros = convolution.inputs
        count, step = weight.shape[0], _step(weight, most)

        def cut(tensor: Tensor, first: int) -> Tensor:
            assert tensor.data is not None
            if tensor.shape[0] != count:
                return tensor  # one for all channels
            return match.graph.constant(tensor.data[first : first + step], tensor.dtype)

        parts = []
        for first in range(0, count, step):
            sums = match.insert.like(convolution, image, cut(weight, first), cut(bias, first), *zeros)
            scales = [cut(tensor, first) for tensor in rescale.inputs[1:3]]
            parts.append(match.insert.like(rescale, sums, *scales, *rescale.inputs[3:]))
        return match.insert("CONCAT", *parts, axis=len(rescale.output.shape) - 1)

    pattern = Pattern("RESCALE", {0: Pattern("CONV2D", name="convolution", alone=True)})
    return pattern_rewrite("conv2d_in_parts", Stage.OPTIMIZE, pattern, in_parts, unfit)


def _step(weight: Tensor, most: int) -> int:
    """Output channels of a part."""
    parts = -(-weight.size // most)
    return -(-weight.shape[0] // (parts * _TOGETHER)) * _TOGETHER


def _readers(op: Op) -> list[Op]:
    """An operator, or those that read what it makes, where it is a view."""
    if op.name != "RESHAPE":
        return [op]
    return [reader for use in op.output.uses for reader in _readers(use)]
