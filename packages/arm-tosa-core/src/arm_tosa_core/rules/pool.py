"""Pools over one, two and three axes.

TOSA pools images. One axis is an image of height 1; three are pooled as planes, then over their depth. A maximum of
maxima is the maximum, and a mean of means the mean, since windows are boxes: how many elements count on one axis does
not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value
from ..support.errors import Rejected
from .convolution import _each, fitted

_P = ParamSpec("_P")
_Sizes = int | Sequence[int]
_Pads = Sequence[tuple[int, int]]
#: From numbers for each axis, those of an image's two axes; the second argument for an axis that only the image has.
_Own = Callable[[Sequence[int], int], Sequence[int]]

_NONE = ((0, 0), (0, 0))
_NO_INDICES = Rejected("its indices are used; TOSA's pools give only the maxima", "use the values alone")


def _with_indices(pool: Callable[_P, Value]) -> Callable[_P, tuple[Value, Rejected]]:
    @wraps(pool)
    def both(*args: _P.args, **kwargs: _P.kwargs) -> tuple[Value, Rejected]:
        return pool(*args, **kwargs), _NO_INDICES

    return both


def _batched(b: OpBuilder, x: Value, n: int, pool: Callable[[Value], Value]) -> Value:
    """``pool`` of [N, C, ...], for a tensor that may be without N."""
    if x.rank > n + 1:
        return pool(x)
    y = pool(b.RESHAPE(x, [1, *x.shape]))
    return b.RESHAPE(y, y.shape[1:])


def _pooled(b: OpBuilder, x: Value, n: int, pool: Callable[[Value, _Own], Value]) -> Value:
    """``pool`` of NCHW images over the last ``n`` axes of [N, C, ...]."""
    if n == 1:
        y = pool(b.RESHAPE(x, [*x.shape[:2], 1, x.shape[2]]), lambda numbers, neutral: [neutral, *numbers])
        return b.RESHAPE(y, [*y.shape[:2], y.shape[3]])
    if n == 2:
        return pool(x, lambda numbers, _: numbers)
    batch, channels, depth, *_ = x.shape
    planes = pool(_planes(b, x), lambda numbers, _: numbers[1:])
    height, width = planes.shape[2:]
    columns = b.RESHAPE(planes, [batch, depth, channels, height * width])
    columns = pool(b.TRANSPOSE(columns, [0, 2, 1, 3]), lambda numbers, neutral: [numbers[0], neutral])
    return b.RESHAPE(columns, [batch, channels, columns.shape[2], height, width])


def _planes(b: OpBuilder, x: Value) -> Value:
    """[N, C, D, H, W] as [N * D, C, H, W]."""
    batch, channels, depth, *plane = x.shape
    return b.RESHAPE(b.TRANSPOSE(x, [0, 2, 1, 3, 4]), [batch * depth, channels, *plane])


def _padding(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[tuple[int, int]]:
    """Padding before and after each axis that PyTorch's windows reach."""
    pads = []
    for size, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        extent = size + 2 * p - (k - 1) * d - 1
        more = -extent % s
        starts_inside = extent + more < size + p
        pads.append((p, p + (more if ceil_mode and starts_inside else 0)))
    return pads


def _max_pool(
    b: OpBuilder, x: Value, kernel: Sequence[int], stride: Sequence[int], pads: _Pads, dilation: Sequence[int]
) -> Value:
    x, pads = fitted(b, x, kernel, stride, list(pads), dilation)
    if any(d != 1 for d in dilation):
        return _dilated_max_pool(b, x, kernel, stride, pads, dilation)
    return b.nchw(b.MAX_POOL2D(b.nhwc(x), kernel, stride, [p for pair in pads for p in pair]))


def _dilated_max_pool(
    b: OpBuilder, x: Value, kernel: Sequence[int], stride: Sequence[int], pads: _Pads, dilation: Sequence[int]
) -> Value:
    """Rows and columns a dilation apart become images of their own, which plain windows run over; then the stride."""
    low = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    padded = [n + sum(p) for n, p in zip(x.shape[2:], pads, strict=True)]
    fill = [-n % d for n, d in zip(padded, dilation, strict=True)]
    x = b.PAD(x, [(0, 0), (0, 0), *((a, z + r) for (a, z), r in zip(pads, fill, strict=True))], low)
    (batch, channels, height, width), (rows, columns) = x.shape, dilation
    parts = b.RESHAPE(x, [batch, channels, height // rows, rows, width // columns, columns])
    parts = b.TRANSPOSE(parts, [0, 3, 5, 1, 2, 4])
    images = b.RESHAPE(parts, [batch * rows * columns, *parts.shape[3:]])
    y = b.nchw(b.MAX_POOL2D(b.nhwc(images), kernel, [1, 1], [0] * 4))
    y = b.TRANSPOSE(b.RESHAPE(y, [*parts.shape[:3], *y.shape[1:]]), [0, 3, 4, 1, 5, 2])
    y = b.RESHAPE(y, [batch, channels, y.shape[2] * rows, y.shape[4] * columns])
    size = [n - (k - 1) * d for n, k, d in zip(padded, kernel, dilation, strict=True)]
    y = b.SLICE(y, [0] * 4, [batch, channels, *size])
    return y if list(stride) == [1, 1] else b.nchw(b.MAX_POOL2D(b.nhwc(y), [1, 1], stride, [0] * 4))


def _mean_pool(b: OpBuilder, x: Value, kernel: Sequence[int], stride: Sequence[int], pads: _Pads, own: _Pads) -> Value:
    """TOSA does not count padding, so ``own``, which counts, becomes part of the image."""
    x, pads = fitted(b, x, kernel, stride, list(pads), [1, 1])
    counted = [(min(p, before), min(p, after)) for (p, _), (before, after) in zip(own, pads, strict=True)]
    x = b.PAD(x, [(0, 0), (0, 0), *counted])
    uncounted = [p - q for pair, part in zip(pads, counted, strict=True) for p, q in zip(pair, part, strict=True)]
    return b.nchw(b.AVG_POOL2D(b.nhwc(x), kernel, stride, uncounted))


def _scaled_sum(
    b: OpBuilder, x: Value, kernel: Sequence[int], stride: Sequence[int], pads: _Pads, divisor: int
) -> Value:
    """Sums over windows, divided by a number that is not their size: a depthwise convolution of equal weights.

    Of a volume the sums of planes, which are not rounded, are added up over the depth.
    """
    if x.rank == 5:
        x = b.PAD(x, [(0, 0), (0, 0), *pads])
        planes = _scaled_sum(b, _planes(b, x), kernel[1:], stride[1:], [(0, 0), (0, 0)], divisor)
        sums = b.RESHAPE(planes, [x.shape[0], x.shape[2], *planes.shape[1:]])
        starts = range(0, x.shape[2] - kernel[0] + 1, stride[0])
        windows = [b.reduce("REDUCE_SUM", b.slice_axis(sums, 1, start, kernel[0]), 1) for start in starts]
        return b.TRANSPOSE(b.CONCAT(windows, 1), [0, 2, 1, 3, 4])
    x, pads = fitted(b, x, kernel, stride, list(pads), [1, 1])
    weight = b.equal_weights([*kernel, x.shape[1], 1], 1 / divisor, x)
    flat = tuple(p for pair in pads for p in pair)
    return b.nchw(b.conv("DEPTHWISE_CONV2D", b.nhwc(x), weight, None, stride=tuple(stride), pad=flat, dilation=(1, 1)))


def _adaptive(
    b: OpBuilder, x: Value, size: Sequence[int], pool: Callable[[Value, Sequence[int]], Value], at_once: bool
) -> Value:
    """A pool with even windows, or, where the sizes do not divide, one pool per window joined along each axis.

    Args:
        x: NCHW.
        size: of the result; 0 keeps the axis.
        at_once: both axes by one pool where both divide.
    """
    target = [n or length for n, length in zip(size, x.shape[2:], strict=True)]
    if at_once and all(length % n == 0 for n, length in zip(target, x.shape[2:], strict=True)):
        return pool(x, [length // n for n, length in zip(target, x.shape[2:], strict=True)])

    def over(part: Value, axis: int, width: int) -> Value:
        return pool(part, [width, 1] if axis == 2 else [1, width]) if width > 1 else part

    for axis, n in enumerate(target, 2):
        length = x.shape[axis]
        if length % n == 0:
            x = over(x, axis, length // n)
            continue
        edges = [(k * length // n, -(-(k + 1) * length // n)) for k in range(n)]
        x = b.CONCAT([over(b.slice_axis(x, axis, i, j - i), axis, j - i) for i, j in edges], axis)
    return x


def _declare(n: int) -> None:
    @op(f"aten.max_pool{n}d.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, homogeneous=n == 2))
    def max_pool(
        b: OpBuilder,
        x: Value,
        kernel: _Sizes,
        stride: _Sizes = (),
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        ceil_mode: bool = False,
    ) -> Value:
        kernel, padding, dilation = (_each(v, n) for v in (kernel, padding, dilation))
        stride = _each(stride, n) or kernel

        def pool(image: Value, own: _Own) -> Value:
            k, s, p, d = own(kernel, 1), own(stride, 1), own(padding, 0), own(dilation, 1)
            return _max_pool(b, image, k, s, _padding(image.shape[2:], k, s, p, d, ceil_mode), d)

        return _batched(b, x, n, lambda x: _pooled(b, x, n, pool))

    if n > 1:
        op(f"aten.max_pool{n}d_with_indices.default", quant=Q.SHARED)(_with_indices(max_pool))

    @op(f"aten.avg_pool{n}d.default", quant=Q.SHARED, traits=Traits(homogeneous=n == 2))
    def avg_pool(
        b: OpBuilder,
        x: Value,
        kernel: _Sizes,
        stride: _Sizes = (),
        padding: _Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        kernel, padding = _each(kernel, n), _each(padding, n)
        stride = _each(stride, n) or kernel
        if divisor_override is not None:
            pads = _padding(x.shape[-n:], kernel, stride, padding, [1] * n, ceil_mode)
            return _batched(b, x, n, lambda x: _scaled_sum(b, x, kernel, stride, pads, divisor_override))

        def pool(image: Value, own: _Own) -> Value:
            k, s, p = own(kernel, 1), own(stride, 1), own(padding, 0)
            counted = [(q if count_include_pad else 0,) * 2 for q in p]
            return _mean_pool(b, image, k, s, _padding(image.shape[2:], k, s, p, [1, 1], ceil_mode), counted)

        return _batched(b, x, n, lambda x: _pooled(b, x, n, pool))

    private = [f"aten._adaptive_avg_pool{n}d.default"] if n > 1 else []

    @op(f"aten.adaptive_avg_pool{n}d.default", *private, quant=Q.SHARED, traits=Traits(homogeneous=n == 2))
    def adaptive_avg_pool(b: OpBuilder, x: Value, size: Sequence[int | None]) -> Value:
        def pool(image: Value, own: _Own) -> Value:
            sizes = own([m or 0 for m in size], 0)
            return _adaptive(b, image, sizes, lambda v, k: _mean_pool(b, v, k, k, _NONE, _NONE), n < 3)

        return _batched(b, x, n, lambda x: _pooled(b, x, n, pool))

    def adaptive_max_pool(b: OpBuilder, x: Value, size: Sequence[int | None]) -> Value:
        def pool(image: Value, own: _Own) -> Value:
            sizes = own([m or 0 for m in size], 0)
            return _adaptive(b, image, sizes, lambda v, k: _max_pool(b, v, k, k, _NONE, [1, 1]), False)

        return _batched(b, x, n, lambda x: _pooled(b, x, n, pool))

    op(f"aten.adaptive_max_pool{n}d.default", quant=Q.SHARED)(_with_indices(adaptive_max_pool))


for _n in (1, 2, 3):
    _declare(_n)
