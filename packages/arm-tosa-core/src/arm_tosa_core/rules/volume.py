"""Pools over three axes: over the planes of a volume, then over its depth.

TOSA pools images. A maximum of maxima is the maximum, and a mean of means the mean, since windows are boxes: how many
elements count on one axis does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value
from ..support.errors import Rejected
from .convolution import _each
from .pool import _NO_INDICES, _adaptive, avg_pool2d, max_pool2d, scaled_sum

_T = TypeVar("_T")
#: Which of the axes of a kernel.
_Axes: TypeAlias = "slice[int, int, None]"
_Pool = Callable[[Value, _Axes], Value]


def _pooled(b: OpBuilder, x: Value, pool: _Pool) -> Value:
    """``pool(images, which)`` over height and width, then over depth, where images have width 1.

    Args:
        x: [N, C, D, H, W], or without N.
        pool: takes NCHW images and which of the three axes are its own.
    """
    if x.rank == 4:
        y = _pooled(b, b.RESHAPE(x, [1, *x.shape]), pool)
        return b.RESHAPE(y, y.shape[1:])
    batch, channels, depth, *plane = x.shape
    planes = b.RESHAPE(b.TRANSPOSE(x, [0, 2, 1, 3, 4]), [batch * depth, channels, *plane])
    planes = pool(planes, slice(1, 3))
    height, width = planes.shape[2:]
    columns = b.RESHAPE(planes, [batch, depth, channels, height * width])
    columns = pool(b.TRANSPOSE(columns, [0, 2, 1, 3]), slice(0, 1))
    return b.RESHAPE(columns, [batch, channels, columns.shape[2], height, width])


def _own(numbers: Sequence[_T], which: _Axes, beside: _T) -> list[_T]:
    """The numbers of a pool's own axes; images that stand for columns have another, of width 1."""
    own = list(numbers[which])
    return own if len(own) == 2 else [*own, beside]


@op("aten.max_pool3d.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def max_pool3d(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Value:
    kernel, padding, dilation = (_each(v, 3) for v in (kernel, padding, dilation))
    stride = _each(stride, 3) or kernel

    def pool(images: Value, which: _Axes) -> Value:
        k, s, p, d = (_own(v, which, one) for v, one in ((kernel, 1), (stride, 1), (padding, 0), (dilation, 1)))
        return max_pool2d(b, images, k, s, p, d, ceil_mode)

    return _pooled(b, x, pool)


@op("aten.max_pool3d_with_indices.default", quant=Q.SHARED)
def max_pool3d_with_indices(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> tuple[Value, Rejected]:
    return max_pool3d(b, x, kernel, stride, padding, dilation, ceil_mode), _NO_INDICES


@op("aten.avg_pool3d.default", quant=Q.SHARED)
def avg_pool3d(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    kernel, padding = _each(kernel, 3), _each(padding, 3)
    stride = _each(stride, 3) or kernel
    if divisor_override is not None:  # a sum over windows that are all of one size, padding being part of the volume
        size = _whole(x.shape[-3:], kernel, stride, padding, ceil_mode)
        return _scaled_sum(b, b.PAD(x, [(0, 0)] * (x.rank - 3) + size), kernel, stride, divisor_override)

    def pool(images: Value, which: _Axes) -> Value:
        k, s, p = (_own(v, which, one) for v, one in ((kernel, 1), (stride, 1), (padding, 0)))
        return avg_pool2d(b, images, k, s, p, ceil_mode, count_include_pad)

    return _pooled(b, x, pool)


def _scaled_sum(b: OpBuilder, x: Value, kernel: Sequence[int], stride: Sequence[int], divisor: int) -> Value:
    """Sums over windows, divided by a number: sums of planes, not rounded, which are added up over the depth."""
    if x.rank == 4:
        y = _scaled_sum(b, b.RESHAPE(x, [1, *x.shape]), kernel, stride, divisor)
        return b.RESHAPE(y, y.shape[1:])
    batch, channels, depth, *plane = x.shape
    planes = b.RESHAPE(b.TRANSPOSE(x, [0, 2, 1, 3, 4]), [batch * depth, channels, *plane])
    planes = scaled_sum(b, planes, kernel[1:], stride[1:], [(0, 0), (0, 0)], divisor)
    sums = b.RESHAPE(planes, [batch, depth, *planes.shape[1:]])
    starts = range(0, depth - kernel[0] + 1, stride[0])
    windows = [b.reduce("REDUCE_SUM", b.slice(sums, 1, start, kernel[0]), 1) for start in starts]
    return b.TRANSPOSE(b.CONCAT(windows, 1), [0, 2, 1, 3, 4])


def _whole(
    sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool
) -> list[tuple[int, int]]:
    """Padding before and after each axis that the windows reach."""
    pads = []
    for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        rest = (n + 2 * p - k) % s
        starts_inside = n + 2 * p - k - rest + s < n + p
        pads.append((p, p + (s - rest if ceil_mode and rest and starts_inside else 0)))
    return pads


@op("aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool3d.default", quant=Q.SHARED)
def adaptive_avg_pool3d(b: OpBuilder, x: Value, size: Sequence[int | None]) -> Value:
    def pool(images: Value, which: _Axes) -> Value:
        return _adaptive(b, images, _own(size, which, None), lambda v, kernel: avg_pool2d(b, v, kernel))

    return _pooled(b, x, pool)


@op("aten.adaptive_max_pool3d.default", quant=Q.SHARED)
def adaptive_max_pool3d(b: OpBuilder, x: Value, size: Sequence[int | None]) -> tuple[Value, Rejected]:
    def pool(images: Value, which: _Axes) -> Value:
        return _adaptive(b, images, _own(size, which, None), lambda v, kernel: max_pool2d(b, v, kernel))

    return _pooled(b, x, pool), _NO_INDICES
