"""Pools with strides that the accelerator lacks: the windows that may be rows of an image, so that it has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from arm_tosa_core.tosa.ir import DType, Op

from ..accelerators import MAX_AXIS, MAX_STRIDE

#: Rows and columns at most of a window.
_MAX_WINDOW = 256
#: Fewer windows are as fast one by one: four of [4, 4, 512] by 13 % on Ethos-U55-128.
_FEWEST_WINDOWS = 8
#: Images at most whose windows overlap: Vela makes an operation of each.
_MOST_IMAGES = 64
_MAX_KERNEL = 4096  # elements of a window of one


@dataclass(frozen=True)
class Windows:
    """Windows along an axis, 1 or 2, of an image [N, H, W, C]: each is whole strides, and the beginning of one more.

    Args:
        images: elements of the axes before.
        axis, count, stride: of the windows.
        whole, rest: strides in a window, and elements of one more.
        before: elements of padding in front.
    """

    images: int
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

    @property
    def columns(self) -> tuple[int, int]:
        """Images, and strides in each; all are one image where no window would reach into another."""
        if self.images == 1 or self.rows == self.count:
            return 1, self.images * self.rows
        return self.images, self.rows


def windows_as_rows(op: Op) -> Windows | None:
    """The windows that become rows of another image; None: they need not, or cannot.

    Maxima may be taken along one axis after the other, and of overlapping parts. An average is rounded once: as the sum
    of a window it may have any part of a stride, else whole ones.
    """
    image, result, maximum = op.inputs[0].shape, op.output.shape, op.name == "MAX_POOL2D"
    for axis in (1, 2):
        size, stride, before = op.attrs["kernel"][axis - 1], op.attrs["stride"][axis - 1], op.attrs["pad"][2 * axis - 2]
        whole, rest = (-(-size // stride), 0) if is_summed(op) else divmod(size, stride)
        windows = Windows(prod(image[:axis]), axis, result[axis], stride, whole, rest, before)
        alone = other_axis(op.attrs["kernel"], axis) == other_axis(op.attrs["stride"], axis) == (1,) and not any(
            op.attrs["pad"]
        )
        images, rows = windows.columns
        if (
            stride > MAX_STRIDE
            and windows.count > 1
            and (any(op.attrs["pad"]) or prod(result[1:3]) >= _FEWEST_WINDOWS)
            and max(stride, whole) <= _MAX_WINDOW
            and max(rows, prod(image[axis + 1 :])) <= MAX_AXIS
            and images <= _MOST_IMAGES
            and op.inputs[0].dtype in (DType.INT8, DType.INT16)
            and (maximum or (alone and not (whole and rest)))
        ):
            return windows
    return None


def is_summed(op: Op) -> bool:
    """Whether a convolution may make the average: of INT8 it has all bits of the sum, and divides as the pool does."""
    is_average = op.name == "AVG_POOL2D" and op.inputs[0].dtype is DType.INT8 and op.inputs[1].is_constant
    return is_average and 2 * prod(op.attrs["kernel"]) <= _MAX_KERNEL


def other_axis(numbers: Sequence[int], axis: int) -> tuple[int, ...]:
    """Of numbers for the two axes of an image those of the other axis."""
    each = len(numbers) // 2
    return tuple(numbers[each:] if axis == 1 else numbers[:each])
