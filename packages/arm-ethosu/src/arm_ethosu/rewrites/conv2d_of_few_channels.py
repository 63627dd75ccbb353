"""Convolutions of few channels: Ethos-U computes with 8 to 32 at once, used or not."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

from ..accelerators import MAX_STRIDE

#: Channels at most, after the rewrite, of a convolution that is worth asking about: of 12 and more, twice as many were
#: never faster, on any accelerator.
_FEW_CHANNELS = 16


def _unfit(op: Op, axis: int) -> str | None:
    image, _, _, zero, weight_zero = op.inputs
    step = op.attrs["stride"][axis - 1]
    if step == 1 or op.attrs["dilation"] != (1, 1):
        return "neighbouring windows share what they read, or lack some"
    if op.output.shape[axis] == 1 or (image.shape[3] * step > _FEW_CHANNELS and step <= MAX_STRIDE):
        return "it has one result, or many channels and a stride that Vela has"
    constant = op.inputs[1].is_constant and zero.is_constant and weight_zero.is_constant
    return None if constant else "its weights vary"


def _columns_unfit(match: Match) -> str | None:
    return _unfit(match.op, 2)


def _columns_as_channels(match: Match) -> Tensor:
    """A convolution with a stride takes the columns that it steps over at once for channels.

    3x3 with a stride of 2 over 3 channels becomes 3x2 with a stride of (2, 1) over 6, so fewer channels are computed
    with that are not there. Groups of columns are a view; the weights of columns that no window reads are 0.
    """
    return _folded(match, _columns_in_groups(match, match.op.attrs["stride"][1]), 2)


def _rows_unfit(match: Match) -> str | None:
    return "its columns come first" if match.op.attrs["stride"][1] != 1 else _unfit(match.op, 1)


def _rows_as_channels(match: Match) -> Tensor:
    """A convolution with a stride along the height alone takes the rows that it steps over at once for channels.

    7x4 with a stride of (2, 1) over 6 channels, as columns that became channels leave it, becomes 4x4 over 12. It takes
    a TRANSPOSE.
    """
    insert, step = match.insert, match.op.attrs["stride"][0]
    image = _filled(match, 1, step)
    batch, rows, columns, channels = image.shape
    image = insert.reshape(image, batch * rows // step, step, columns, channels)
    image = insert("TRANSPOSE", image, perms=(0, 2, 1, 3))
    return _folded(match, insert.reshape(image, batch, rows // step, columns, step * channels), 1)


def _folded(match: Match, image: Tensor, axis: int) -> Tensor:
    """The convolution of an image whose rows (axis 1) or columns (axis 2) are channels in groups of its stride."""
    op = match.op
    _, weight, *rest = op.inputs
    weight_zero = rest[2].data
    assert weight.data is not None and weight_zero is not None
    stride, pad = list(op.attrs["stride"]), list(op.attrs["pad"])
    step, padding = stride[axis - 1], pad[2 * axis - 2]
    before = -(-padding // step)  # groups before the image
    first = before * step - padding  # of the rows or columns of a window
    taps = -(-(first + weight.shape[axis]) // step)
    around = [(0, 0)] * 4
    around[axis] = (first, taps * step - first - weight.shape[axis])
    kernel = np.pad(weight.data, around, constant_values=weight_zero[0])
    outputs, height, width, channels = kernel.shape
    if axis == 1:
        kernel = np.moveaxis(kernel.reshape(outputs, taps, step, width, channels), 2, 3)
        kernel = kernel.reshape(outputs, taps, width, step * channels)
    else:
        kernel = kernel.reshape(outputs, height, taps, step * channels)
    stride[axis - 1] = 1
    pad[2 * axis - 2 : 2 * axis] = before, op.output.shape[axis] - 1 + taps - image.shape[axis] - before
    attrs = {**op.attrs, "stride": tuple(stride), "pad": tuple(pad)}
    return match.insert("CONV2D", image, match.graph.constant(kernel, weight.dtype), *rest, **attrs)


def _filled(match: Match, axis: int, step: int) -> Tensor:
    """The image with whole groups of rows or columns."""
    image = match.op.inputs[0]
    around = [0] * 8
    around[2 * axis + 1] = -image.shape[axis] % step
    return match.insert("PAD", image, match.graph.shape(around), match.op.inputs[3]) if any(around) else image


def _columns_in_groups(match: Match, step: int) -> Tensor:
    """The image with groups of columns as channels; an incomplete group is filled up."""
    op, insert, graph = match.op, match.insert, match.graph
    batch, rows, columns, channels = op.inputs[0].shape
    size = (batch, rows, -(-columns // step), step * channels)
    if (cut := _cut_between_groups(op, step)) is not None:  # a SLICE of a view costs nothing, a view of a SLICE a copy
        whole, start = cut
        view = insert.reshape(whole, *whole.shape[:2], whole.shape[2] // step, step * channels)
        start[2] //= step
        return insert("SLICE", view, graph.shape(start), graph.shape(size))
    return insert.reshape(_filled(match, 2, step), *size)


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


COLUMNS_AS_CHANNELS = Choice("columns_as_channels", Pattern("CONV2D"), _columns_as_channels, _columns_unfit)
ROWS_AS_CHANNELS = Choice("rows_as_channels", Pattern("CONV2D"), _rows_as_channels, _rows_unfit)
