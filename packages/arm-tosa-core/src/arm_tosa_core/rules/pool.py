"""Pools over one and two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..build import Builder
from ..registry import Q, op
from ..values import Value
from .convolution import _each, _fit


def _windows(
    b: Builder, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool
) -> tuple[Value, list[tuple[int, int]]]:
    """The image (NCHW) and the padding that make TOSA's windows PyTorch's, ``ceil_mode`` included."""
    pads = []
    for i in (0, 1):
        extent = x.shape[i + 2] + 2 * padding[i] - kernel[i]
        after = padding[i]
        if ceil_mode and extent % stride[i]:
            steps = extent // stride[i] + 1
            if steps * stride[i] < x.shape[i + 2] + padding[i]:  # a window must start inside
                after += steps * stride[i] - extent
        pads.append((padding[i], after))
    return _fit(b, x, kernel, stride, pads, [1, 1])


@op("aten.max_pool2d.default", quant=Q.SHARED)
def max_pool2d(
    b: Builder,
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
    if any(d != 1 for d in dilation):
        return _dilated_max_pool(b, x, kernel, stride, padding, dilation, ceil_mode)
    x, pads = _windows(b, x, kernel, stride, padding, ceil_mode)
    return b.nchw(b.MAX_POOL2D(b.nhwc(x), kernel, stride, [p for pair in pads for p in pair]))


def _dilated_max_pool(
    b: Builder,
    x: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Value:
    """The maximum over shifted views of the padded image; shifts are few, as kernels are small."""
    b.require(all(s == 1 for s in stride) and not ceil_mode, "is a dilated max pool with a stride or ceil_mode")
    b.require(
        not x.dtype.is_floating_point or x.quant is not None or not any(padding), "is a dilated max pool with padding"
    )
    low = -math.inf if x.quant is None else x.quant.scalar * (x.quant.qmin - x.quant.zero_point)
    x = b.PAD(x, [(0, 0), (0, 0), *((p, p) for p in padding)], low)
    size = [x.shape[i + 2] - (kernel[i] - 1) * dilation[i] for i in (0, 1)]
    result: Value | None = None
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            start = [0, 0, row * dilation[0], column * dilation[1]]
            view = b.SLICE(x, start, [*x.shape[:2], *size])
            result = view if result is None else b.MAXIMUM(result, view)
    assert result is not None
    return result


@op("aten.max_pool2d_with_indices.default", quant=Q.SHARED)
def max_pool2d_with_indices(b: Builder, x: Value, *args: Any, **kwargs: Any) -> tuple[Value, None]:
    return max_pool2d(b, x, *args, **kwargs), None


@op("aten.max_pool1d.default", quant=Q.SHARED)
def max_pool1d(
    b: Builder,
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


@op("aten.avg_pool2d.default", quant=Q.SHARED)
def avg_pool2d(
    b: Builder,
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
    if count_include_pad and any(padding):  # TOSA does not count padding: make it part of the image
        x = b.PAD(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
        padding = [0, 0]
    x, pads = _windows(b, x, kernel, stride, padding, ceil_mode)
    y = b.nchw(b.AVG_POOL2D(b.nhwc(x), kernel, stride, [p for pair in pads for p in pair]))
    if divisor_override is None:
        return y
    b.require(not any(p for pair in pads for p in pair), "has a divisor_override and padding")
    return b.MUL(y, kernel[0] * kernel[1] / divisor_override)


@op("aten.avg_pool1d.default", quant=Q.SHARED)
def avg_pool1d(
    b: Builder,
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


def _adaptive(b: Builder, x: Value, size: Sequence[int | None], pool: Any) -> Value:
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
            parts.append(pool(b.slice(x, x.rank - 2 + axis, start, stop - start), kernel))
        x = b.CONCAT(parts, x.rank - 2 + axis)
    return x


@op("aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default", quant=Q.SHARED)
def adaptive_avg_pool2d(b: Builder, x: Value, size: Sequence[int | None]) -> Value:
    target = [x.shape[i - 2] if n is None else n for i, n in enumerate(size)]
    if all(x.shape[i - 2] % n == 0 for i, n in enumerate(target)):
        return avg_pool2d(b, x, [x.shape[i - 2] // n for i, n in enumerate(target)])
    return _adaptive(b, x, size, lambda v, kernel: avg_pool2d(b, v, kernel))


@op("aten.adaptive_avg_pool1d.default", quant=Q.SHARED)
def adaptive_avg_pool1d(b: Builder, x: Value, size: Sequence[int]) -> Value:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    y = adaptive_avg_pool2d(b, image, [1, *size])
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]])


@op("aten.adaptive_max_pool2d.default", quant=Q.SHARED)
def adaptive_max_pool2d(b: Builder, x: Value, size: Sequence[int | None]) -> tuple[Value, None]:
    return _adaptive(b, x, size, lambda v, kernel: max_pool2d(b, v, kernel)), None


@op("aten.adaptive_max_pool1d.default", quant=Q.SHARED)
def adaptive_max_pool1d(b: Builder, x: Value, size: Sequence[int]) -> tuple[Value, None]:
    image = b.RESHAPE(x, [*x.shape[:-1], 1, x.shape[-1]])
    y, _ = adaptive_max_pool2d(b, image, [1, *size])
    return b.RESHAPE(y, [*y.shape[:-2], y.shape[-1]]), None
