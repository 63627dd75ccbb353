"""Pools with strides that Vela makes an operation of each window of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage

from ..accelerators import MAX_AXIS, MAX_STRIDE

_LEAST = {DType.INT8: -128, DType.INT16: -32768}
#: Rows and columns at most of a window.
_MAX_WINDOW = 256
#: Fewer windows are as fast one by one: four of [4, 4, 512] by 13 % on Ethos-U55-128.
_FEWEST_WINDOWS = 8


@dataclass(frozen=True)
class Windows:
    """Windows along an axis, 1 or 2, of an image [N, H, W, C]: each is whole strides, and the beginning of one more.

    Args:
        whole, rest: strides in a window, and elements of one more.
        before: elements of padding in front.
    """

    axis: int
    count: int
    stride: int
    whole: int
    rest: int
    before: int

    @property
    def rows(self) -> int:
        """Strides that all windows reach, but for the beginning of one more."""
        return self.count - 1 + max(self.whole, 1)

    @property
    def size(self) -> int:
        """Elements of these strides, and of the beginning of one more that the last window reaches."""
        return self.rows * self.stride + (self.rest if self.whole else 0)


def windows_as_rows(op: Op) -> Windows | None:
    """The windows that become rows of another image; None: they need not, or cannot.

    Maxima may be taken along one axis after the other, and of overlapping parts. An average is rounded once.
    """
    image, result, maximum = op.inputs[0].shape, op.output.shape, op.name == "MAX_POOL2D"
    for axis in (1, 2):
        size, stride, before = op.attrs["kernel"][axis - 1], op.attrs["stride"][axis - 1], op.attrs["pad"][2 * axis - 2]
        windows = Windows(axis, result[axis], stride, size // stride, size % stride, before)
        images = prod(image[:axis])
        alone = _other(op.attrs["kernel"], axis) == _other(op.attrs["stride"], axis) == (1,) and not any(
            op.attrs["pad"]
        )
        if (
            stride > MAX_STRIDE
            and windows.count > 1
            and prod(result[1:3]) >= _FEWEST_WINDOWS
            and max(stride, windows.whole) <= _MAX_WINDOW
            and max(images * windows.rows, prod(image[axis + 1 :])) <= MAX_AXIS
            and (images == 1 or windows.rows == windows.count)
            and op.inputs[0].dtype in _LEAST
            and (maximum or (alone and not (windows.whole and windows.rest)))
        ):
            return windows
    return None


def _other(numbers: Sequence[int], axis: int) -> tuple[int, ...]:
    """Of numbers for the two axes of an image those of the other axis."""
    each = len(numbers) // 2
    return tuple(numbers[each:] if axis == 1 else numbers[:each])


def _check(match: Match) -> str | None:
    return None if windows_as_rows(match.op) is not None else "no stride is so long, or its windows cannot be rows"


def _rows_of_windows(match: Match) -> Tensor:
    """A pool whose stride along an axis is longer than Vela has becomes one of an image whose rows are the strides.

    Vela makes an operation of each window: [1, 1, 16000, 4] with windows of 4 takes 452,000 cycles on Ethos-U55-128,
    17 seconds of Vela, and 80 KB of commands.
    """
    op, insert, along = match.op, match.insert, windows_as_rows(match.op)
    assert along is not None
    shape = list(op.inputs[0].shape)
    images = prod(shape[: along.axis])
    x = _sized(insert, op, along)

    def pooled(image: Tensor, *kernel: int) -> Tensor:
        return insert.like(op, image, *op.inputs[1:], kernel=kernel, stride=(1, 1), pad=(0, 0, 0, 0))

    if along.whole and along.rest:  # the largest of neighbours first: windows are whole strides of these
        x = pooled(x, *((along.rest + 1, 1) if along.axis == 1 else (1, along.rest + 1)))
    x = insert.reshape(x, 1, images * along.rows, along.stride, prod(shape[along.axis + 1 :]))
    if along.whole:
        result = pooled(x, along.whole, along.stride)
    else:
        result = pooled(insert.slice(x, 2, 0, along.rest), 1, along.rest)
    shape[along.axis] = along.count
    result = insert.reshape(result, *shape)
    kernel, stride, pad = (_other(op.attrs[name], along.axis) for name in ("kernel", "stride", "pad"))
    if kernel == stride == (1,) and not any(pad):
        return result
    both = ((1, *kernel), (1, *stride), (0, 0, *pad)) if along.axis == 1 else ((*kernel, 1), (*stride, 1), (*pad, 0, 0))
    return insert.like(op, result, **dict(zip(("kernel", "stride", "pad"), both, strict=True)))


def _sized(insert: Inserter, op: Op, windows: Windows) -> Tensor:
    """The image as long as windows reach, padded in front as the pool pads it."""
    x, axis, size = op.inputs[0], windows.axis, windows.size
    behind = max(0, size - windows.before - x.shape[axis])
    if windows.before or behind:
        amounts = [0] * 8
        amounts[2 * axis : 2 * axis + 2] = windows.before, behind
        least = np.array([_LEAST[x.dtype]], np.int8 if x.dtype is DType.INT8 else np.int16)
        x = insert("PAD", x, insert.graph.shape(amounts), insert.graph.constant(least, x.dtype))
    return insert.slice(x, axis, 0, size)


ROWS_OF_WINDOWS = pattern_rewrite(
    "rows_of_windows", Stage.LEGALIZE, Pattern("AVG_POOL2D|MAX_POOL2D"), _rows_of_windows, _check
)
