"""Pools over one and two axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value
from ..support.errors import Rejected
from .convolution import _each, _fit

#: Pools an image (NCHW) with a kernel of [height, width] as its stride.
_Pool = Callable[[Value, Sequence[int]], Value]

_NO_INDICES = Rejected("its indices are used; TOSA's pools give only the maxima", "use the values alone")


def _windows(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    dilation: Sequence[int] = (1, 1),
) -> tuple[Value, list[tuple[int, int]]]:
    """The image (NCHW) and the padding that make TOSA's windows PyTorch's, ``ceil_mode`` included."""
    pads = []
    for i in (0, 1):
        extent = x.shape[i + 2] + 2 * padding[i] - (kernel[i] - 1) * dilation[i] - 1
        after = padding[i]
        if ceil_mode and extent % stride[i]:
            steps = extent // stride[i] + 1
            if steps * stride[i] < x.shape[i + 2] + padding[i]:  # a window must start inside
                after += steps * stride[i] - extent
        pads.append((padding[i], after))
    return _fit(b, x, kernel, stride, pads, dilation)


@op("aten.max_pool2d.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, homogeneous=True))
def max_pool2d(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Value:
    kernel, padding, dilation = _each(kernel, 2), _each(padding, 2), _each(dilation, 2)
    stride = _each(stride, 2) or kernel
    if x.rank == 3:
        y = max_pool2d(b, b.RESHAPE(x, [1, *x.shape]), kernel, stride, padding, dilation, ceil_mode)
        return b.RESHAPE(y, y.shape[1:])
    x, pads = _windows(b, x, kernel, stride, padding, ceil_mode, dilation)
    if any(d != 1 for d in dilation):
        return _dilated_max_pool(b, x, kernel, stride, pads, dilation)
    return b.nchw(b.MAX_POOL2D(b.nhwc(x), kernel, stride, [p for pair in pads for p in pair]))


def _dilated_max_pool(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
) -> Value:
    """Rows and columns a dilation apart become images of their own, which plain windows run over; then the stride."""
    low = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    whole = [n + sum(p) for n, p in zip(x.shape[2:], pads, strict=True)]
    rest = [-n % d for n, d in zip(whole, dilation, strict=True)]
    x = b.PAD(x, [(0, 0), (0, 0), *((a, z + r) for (a, z), r in zip(pads, rest, strict=True))], low)
    (batch, channels, height, width), (rows, columns) = x.shape, dilation
    parts = b.RESHAPE(x, [batch, channels, height // rows, rows, width // columns, columns])
    parts = b.TRANSPOSE(parts, [0, 3, 5, 1, 2, 4])
    images = b.RESHAPE(parts, [batch * rows * columns, *parts.shape[3:]])
    y = b.nchw(b.MAX_POOL2D(b.nhwc(images), kernel, [1, 1], [0] * 4))
    y = b.TRANSPOSE(b.RESHAPE(y, [*parts.shape[:3], *y.shape[1:]]), [0, 3, 4, 1, 5, 2])
    y = b.RESHAPE(y, [batch, channels, y.shape[2] * rows, y.shape[4] * columns])
    size = [n - (k - 1) * d for n, k, d in zip(whole, kernel, dilation, strict=True)]
    y = b.SLICE(y, [0] * 4, [batch, channels, *size])
    return y if list(stride) == [1, 1] else b.nchw(b.MAX_POOL2D(b.nhwc(y), [1, 1], stride, [0] * 4))


@op("aten.max_pool2d_with_indices.default", quant=Q.SHARED)
def max_pool2d_with_indices(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> tuple[Value, Rejected]:
    return max_pool2d(b, x, kernel, stride, padding, dilation, ceil_mode), _NO_INDICES


@op("aten.max_pool1d.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def max_pool1d(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] | int = 0,
    dilation: Sequence[int] | int = 1,
    ceil_mode: bool = False,
) -> Value:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    step = [1, *(_each(stride, 1) or _each(kernel, 1))]
    y = max_pool2d(b, image, [1, *_each(kernel, 1)], step, [0, *_each(padding, 1)], [1, *_each(dilation, 1)], ceil_mode)
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]])


@op("aten.avg_pool2d.default", quant=Q.SHARED, traits=Traits(homogeneous=True))
def avg_pool2d(
    b: OpBuilder,
    x: Value,
    kernel: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    kernel, padding = _each(kernel, 2), _each(padding, 2)
    stride = _each(stride, 2) or kernel
    if x.rank == 3:
        image = b.RESHAPE(x, [1, *x.shape])
        y = avg_pool2d(b, image, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return b.RESHAPE(y, y.shape[1:])
    x, pads = _windows(b, x, kernel, stride, padding, ceil_mode)
    if divisor_override is not None:
        return scaled_sum(b, x, kernel, stride, pads, divisor_override)
    if count_include_pad:  # TOSA does not count padding: make it part of the image; ceil_mode's stays outside
        own = [(before, min(after, p)) for (before, after), p in zip(pads, padding, strict=True)]
        x = b.PAD(x, [(0, 0), (0, 0), *own])
        pads = [(0, after - counted) for (_, after), (_, counted) in zip(pads, own, strict=True)]
    return b.nchw(b.AVG_POOL2D(b.nhwc(x), kernel, stride, [p for pair in pads for p in pair]))


def scaled_sum(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    divisor: int,
) -> Value:
    """Sums over windows, divided by a number that is not their size: a depthwise convolution of equal weights."""
    shape = [*kernel, x.shape[1], 1]
    weight = b.equal_weights(shape, 1 / divisor, x)
    flat = tuple(p for pair in pads for p in pair)
    return b.nchw(b.conv("DEPTHWISE_CONV2D", b.nhwc(x), weight, None, stride=tuple(stride), pad=flat, dilation=(1, 1)))


@op("aten.avg_pool1d.default", quant=Q.SHARED)
def avg_pool1d(
    b: OpBuilder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] | int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Value:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    step = [1, *(_each(stride, 1) or _each(kernel, 1))]
    y = avg_pool2d(b, image, [1, *_each(kernel, 1)], step, [0, *_each(padding, 1)], ceil_mode, count_include_pad)
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]])


def _adaptive(b: OpBuilder, x: Value, size: Sequence[int | None], pool: _Pool) -> Value:
    """A pool with even windows, or, where the sizes do not divide, one pool per window joined along each axis."""
    target = [x.shape[i - 2] if n is None else n for i, n in enumerate(size)]
    for axis in (0, 1):
        length, n = x.shape[axis - 2], target[axis]
        edges = [(k * length // n, -(-(k + 1) * length // n)) for k in range(n)]
        if length % n == 0:
            kernel = [1, 1]
            kernel[axis] = length // n
            x = pool(x, kernel) if kernel != [1, 1] else x
            continue
        parts = []
        for start, stop in edges:
            kernel = [1, 1]
            kernel[axis] = stop - start
            part = b.slice(x, x.rank - 2 + axis, start, stop - start)
            parts.append(pool(part, kernel) if stop - start > 1 else part)
        x = b.CONCAT(parts, x.rank - 2 + axis)
    return x


@op(
    "aten.adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool2d.default",
    quant=Q.SHARED,
    traits=Traits(homogeneous=True),
)
def adaptive_avg_pool2d(b: OpBuilder, x: Value, size: Sequence[int | None]) -> Value:
    target = [x.shape[i - 2] if n is None else n for i, n in enumerate(size)]
    if all(x.shape[i - 2] % n == 0 for i, n in enumerate(target)):
        return avg_pool2d(b, x, [x.shape[i - 2] // n for i, n in enumerate(target)])
    return _adaptive(b, x, size, lambda v, kernel: avg_pool2d(b, v, kernel))


@op("aten.adaptive_avg_pool1d.default", quant=Q.SHARED)
def adaptive_avg_pool1d(b: OpBuilder, x: Value, size: Sequence[int]) -> Value:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    y = adaptive_avg_pool2d(b, image, [1, *size])
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]])


@op("aten.adaptive_max_pool2d.default", quant=Q.SHARED)
def adaptive_max_pool2d(b: OpBuilder, x: Value, size: Sequence[int | None]) -> tuple[Value, Rejected]:
    return _adaptive(b, x, size, lambda v, kernel: max_pool2d(b, v, kernel)), _NO_INDICES


@op("aten.adaptive_max_pool1d.default", quant=Q.SHARED)
def adaptive_max_pool1d(b: OpBuilder, x: Value, size: Sequence[int]) -> tuple[Value, Rejected]:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    y, _ = adaptive_max_pool2d(b, image, [1, *size])
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]]), _NO_INDICES
