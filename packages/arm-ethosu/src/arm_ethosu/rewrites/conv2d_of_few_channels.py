"""Convolutions of few channels: Ethos-U computes with 8 to 32 at once, used or not."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

from .by_estimate import Choice

#: Channels at most, after the rewrite, of a convolution that is worth asking about: more leave nothing unused.
_FEW_CHANNELS = 32


def _unfit(match: Match) -> str | None:
    op = match.op
    image, weight, _, zero, weight_zero = op.inputs
    step = op.attrs["stride"][1]
    if step == 1 or op.attrs["dilation"] != (1, 1):
        return "neighbouring windows share columns, or lack some"
    if image.shape[3] * step > _FEW_CHANNELS or op.output.shape[2] == 1:
        return "it has many channels or one column of results"
    if not (weight.is_constant and zero.is_constant and weight_zero.is_constant):
        return "its weights vary"
    return None


def _columns_as_channels(match: Match) -> Tensor:
    """A convolution with a stride takes the columns that it steps over at once for channels.

    3x3 with a stride of 2 over 3 channels becomes 3x2 with a stride of (2, 1) over 6, so fewer channels are computed
    with that are not there. Groups of columns are a view; the weights of columns that no window reads are 0.
    """
    op, insert, graph = match.op, match.insert, match.graph
    _, weight, *rest = op.inputs
    weight_zero = rest[2].data
    assert weight.data is not None and weight_zero is not None
    down, step = op.attrs["stride"]
    top, bottom, left, _ = op.attrs["pad"]
    outputs, height, width, channels = weight.shape
    before = -(-left // step)  # groups of columns before the image
    first = before * step - left  # of the columns of a window
    taps = -(-(first + width) // step)
    kernel = np.full((outputs, height, taps * step, channels), weight_zero[0], weight.data.dtype)
    kernel[:, :, first : first + width] = weight.data
    kernel = kernel.reshape(outputs, height, taps, step * channels)
    image = _in_groups(match, step)
    after = op.output.shape[2] - 1 + taps - image.shape[2] - before
    attrs = {**op.attrs, "stride": (down, 1), "pad": (top, bottom, before, after)}
    return insert("CONV2D", image, graph.constant(kernel, weight.dtype), *rest, **attrs)


def _in_groups(match: Match, step: int) -> Tensor:
    """The image with groups of columns as channels; an incomplete group is filled up."""
    op, insert, graph = match.op, match.insert, match.graph
    image = op.inputs[0]
    batch, rows, columns, channels = image.shape
    groups = -(-columns // step)
    if (cut := _cut_between_groups(op, step)) is not None:  # a SLICE of a view costs nothing, a view of a SLICE a copy
        whole, start = cut
        view = insert("RESHAPE", whole, graph.shape((*whole.shape[:2], whole.shape[2] // step, step * channels)))
        start[2] //= step
        return insert("SLICE", view, graph.shape(start), graph.shape((batch, rows, groups, step * channels)))
    if more := groups * step - columns:
        image = insert("PAD", image, graph.shape((0, 0, 0, 0, 0, more, 0, 0)), op.inputs[3])
    return insert("RESHAPE", image, graph.shape((batch, rows, groups, step * channels)))


def _cut_between_groups(op: Op, step: int) -> tuple[Tensor, list[int]] | None:
    """What a SLICE cuts the image out of, and where it starts, if that leaves groups whole but for unread columns."""
    image = op.inputs[0]
    cut = image.producer
    if cut is None or cut.name != "SLICE" or (data := cut.inputs[1].data) is None:
        return None
    whole, start, columns = cut.inputs[0], [int(n) for n in data], image.shape[2]
    padded = columns % step and op.attrs["pad"][3]  # there what was cut off is read as padding
    if whole.shape[3] != image.shape[3] or whole.shape[2] % step or start[2] % step or padded:
        return None
    return whole, start


COLUMNS_AS_CHANNELS = Choice("columns_as_channels", Pattern("CONV2D"), _columns_as_channels, _unfit)
