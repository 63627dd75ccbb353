"""Channels that a TRANSPOSE puts in another order, which the neural accelerator does faster by a convolution."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

#: Fewer elements are moved in no time; the weights of more channels take longer to read than the elements.
_FEW, _MANY_CHANNELS = 4096, 1024


def _order(match: Match) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    """The channel that each channel of the result is; None: the TRANSPOSE moves other axes, too."""
    view, perms = match["view"].output.shape, match.op.attrs["perms"]
    channels, first = match["view"].inputs[0].shape[-1], len(view)
    while first and np.prod(view[first - 1 :]) <= channels:
        first -= 1
    moved = [axis for axis in perms if view[axis] > 1 or axis >= first]
    outside, inside = moved[: len(moved) - len(view) + first], moved[len(moved) - len(view) + first :]
    if np.prod(view[first:]) != channels or outside != sorted(outside) or set(inside) != set(range(first, len(view))):
        return None
    return np.arange(channels).reshape(view[first:]).transpose([axis - first for axis in inside]).reshape(-1)


def _check(match: Match) -> str | None:
    x = match["view"].inputs[0]
    if x.dtype is not DType.INT8 or x.size < _FEW or x.shape[-1] > _MANY_CHANNELS or x.rank not in (3, 4):
        return "it is not INT8, moves little, or has many channels"
    return None if _order(match) is not None else "it moves more than channels"


def _convolved(match: Match) -> Tensor:
    """A TRANSPOSE within channels, as of a channel shuffle, is a convolution with one weight of 1 for each result."""
    order, insert, x = _order(match), match.insert, match["view"].inputs[0]
    assert order is not None
    weights = np.eye(len(order), dtype=np.int8)[order].reshape(len(order), 1, 1, -1)
    image = insert.convolve("CONV2D", insert.reshape(x, *(1,) * (4 - x.rank), *x.shape), weights)
    return insert.reshape(insert.rescale(image, DType.INT8), *match.op.output.shape)


#: As TRANSPOSEs, the 16 channel shuffles of ShuffleNet-v2 take 44 % of its cycles.
CHANNELS_BY_CONVOLUTION = Choice(
    "channels_by_convolution",
    Pattern("TRANSPOSE", {0: Pattern("RESHAPE", name="view", alone=True)}),
    _convolved,
    _check,
)
