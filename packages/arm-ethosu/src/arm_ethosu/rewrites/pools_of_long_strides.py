"""Pools with strides that Vela makes an operation of each window of."""

from __future__ import annotations

from math import gcd, prod

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage
from arm_tosa_core.tosa.scaling import reciprocal

from ..native.pools import Windows, is_summed, other_axis, windows_as_rows

_LEAST = {DType.INT8: -128, DType.INT16: -32768}
#: Channels at most of which one convolution makes all averages: more are faster each by itself.
_FEW_CHANNELS = 16


def _check(match: Match) -> str | None:
    return None if windows_as_rows(match.op) is not None else "no stride is so long, or its windows cannot be rows"


def _rows_of_windows(match: Match) -> Tensor:
    """A pool whose stride along an axis is longer than Vela has becomes one of an image whose rows are the strides.

    Vela makes an operation of each window: [1, 1, 16000, 4] with windows of 4 takes 452,000 cycles on Ethos-U55-128,
    17 seconds of Vela, and 80 KB of commands. Averages of INT8 become a convolution, in a third of a pool's cycles or
    less.
    """
    op, insert, along = match.op, match.insert, windows_as_rows(match.op)
    assert along is not None
    shape = list(op.inputs[0].shape)
    x = _sized(insert, op, along)

    def pooled(image: Tensor, *kernel: int) -> Tensor:
        return insert.like(op, image, *op.inputs[1:], kernel=kernel, stride=(1, 1), pad=(0, 0, 0, 0))

    if along.whole and along.rest:  # the largest of neighbours first: windows are whole strides of these
        x = pooled(x, *((along.rest + 1, 1) if along.axis == 1 else (1, along.rest + 1)))
    x = insert.reshape(x, *along.columns, along.stride, prod(shape[along.axis + 1 :]))
    if is_summed(op):
        result = _averages(insert, op, x, along)
    elif along.whole:
        result = pooled(x, along.whole, along.stride)
    else:
        result = pooled(insert.slice(x, 2, 0, along.rest), 1, along.rest)
    shape[along.axis] = along.count
    result = insert.reshape(result, *shape)
    kernel, stride, pad = (other_axis(op.attrs[name], along.axis) for name in ("kernel", "stride", "pad"))
    if kernel == stride == (1,) and not any(pad):
        return result
    both = ((1, *kernel), (1, *stride), (0, 0, *pad)) if along.axis == 1 else ((*kernel, 1), (*stride, 1), (*pad, 0, 0))
    return insert.like(op, result, **dict(zip(("kernel", "stride", "pad"), both, strict=True)))


def _averages(insert: Inserter, op: Op, x: Tensor, windows: Windows) -> Tensor:
    """The averages of windows over [images, strides, elements of a stride, channels].

    A convolution with ones, and zeros where a window ends before its last stride: with the elements of a stride as
    channels where there are few, else of each channel.
    """
    images, rows, stride, channels = x.shape
    ones = np.arange(windows.whole * stride) < prod(op.attrs["kernel"])
    if channels <= _FEW_CHANNELS:
        x = insert.reshape(x, images, 1, rows, stride * channels)
        weights = np.kron(ones, np.eye(channels)).reshape(channels, 1, windows.whole, stride * channels)
        total = insert.convolve("CONV2D", x, weights, zero=op.inputs[1])
    else:
        weights = np.repeat(ones, channels).reshape(windows.whole, stride, channels, 1)
        total = insert.convolve("DEPTHWISE_CONV2D", x, weights, zero=op.inputs[1])
    return insert.rescale(total, DType.INT8, reciprocal(prod(op.attrs["kernel"])), op.inputs[2])


def _sized(insert: Inserter, op: Op, windows: Windows) -> Tensor:
    """The image as long as windows reach, padded in front as the pool pads it."""
    x, axis, size = _uncut(op, windows.axis), windows.axis, windows.size
    behind = max(0, size - windows.before - x.shape[axis])
    if windows.before or behind:
        amounts = [0] * 8
        amounts[2 * axis : 2 * axis + 2] = windows.before, behind
        least = np.array([_LEAST[x.dtype]], np.int8 if x.dtype is DType.INT8 else np.int16)
        x = insert("PAD", x, insert.graph.shape(amounts), insert.graph.constant(least, x.dtype))
    if windows.images > 1:
        return insert.slice(x, axis, 0, size)
    # Vela copies the part, fewer channels than it has at once as slowly as all: several elements are taken for one.
    step = gcd(x.shape[axis], size)
    groups = insert.reshape(x, 1, 1, x.shape[axis] // step, step * prod(x.shape[axis + 1 :]))
    return insert.reshape(insert.slice(groups, 2, 0, size // step), *x.shape[:axis], size, *x.shape[axis + 1 :])


def _uncut(op: Op, axis: int) -> Tensor:
    """What a SLICE cut the end of an axis off, where windows that are summed may read it times 0; else the image."""
    x, cut = op.inputs[0], op.inputs[0].producer
    if not is_summed(op) or cut is None or cut.name != "SLICE" or (start := cut.inputs[1].data) is None:
        return x
    whole = cut.inputs[0].shape
    return cut.inputs[0] if not any(start) and all(whole[i] == x.shape[i] for i in range(4) if i != axis) else x


ROWS_OF_WINDOWS = pattern_rewrite(
    "rows_of_windows", Stage.LEGALIZE, Pattern("AVG_POOL2D|MAX_POOL2D"), _rows_of_windows, _check
)
