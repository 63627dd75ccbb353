"""Sums, means, extremes and the like over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..build import Builder
from ..registry import Q, op
from ..values import Value

Dims = int | Sequence[int] | None


def _axes(x: Value, dims: Dims) -> list[int]:
    if dims is None or (not isinstance(dims, int) and not dims):
        return list(range(x.rank))
    return sorted({d % x.rank if x.rank else 0 for d in ([dims] if isinstance(dims, int) else dims)})


def _finish(b: Builder, y: Value, axes: Sequence[int], keepdim: bool) -> Value:
    return y if keepdim else b.RESHAPE(y, [n for i, n in enumerate(y.shape) if i not in axes])


def _reduced(b: Builder, name: str, x: Value, dims: Dims, keepdim: bool) -> Value:
    axes = _axes(x, dims)
    y = x
    for axis in axes if x.rank else ():
        y = b.reduce(name, y, axis)
    return _finish(b, y, axes, keepdim)


@op("aten.sum.dim_IntList", "aten.sum.default", quant=Q.ACCUMULATE)
def sum_(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Value:
    if dtype is None and not x.dtype.is_floating_point:
        dtype = torch.int64
    x = x if dtype is None or x.quant else b.cast(x, dtype)
    return _reduced(b, "REDUCE_SUM", x, dims, keepdim)


@op("aten.mean.dim", "aten.mean.default", quant=Q.ACCUMULATE)
def mean(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Value:
    axes = _axes(x, dims)
    if x.rank == 4 and axes == [2, 3]:
        image = b.nhwc(x)
        y = b.nchw(b.AVG_POOL2D(image, image.shape[1:3], (1, 1), (0, 0, 0, 0)))
    else:
        y = b.mean(x, axes)
    return _finish(b, y, axes, keepdim)


@op("aten.amax.default", quant=Q.SHARED)
def amax(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_MAX", x, dims, keepdim)


@op("aten.amin.default", quant=Q.SHARED)
def amin(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_MIN", x, dims, keepdim)


@op("aten.max.default", quant=Q.SHARED)
def max_(b: Builder, x: Value) -> Value:
    return _reduced(b, "REDUCE_MAX", x, None, False)


@op("aten.min.default", quant=Q.SHARED)
def min_(b: Builder, x: Value) -> Value:
    return _reduced(b, "REDUCE_MIN", x, None, False)


@op("aten.max.dim", quant=Q.SHARED)
def max_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    return _reduced(b, "REDUCE_MAX", x, dim, keepdim), argmax(b, x, dim, keepdim)


@op("aten.argmax.default")
def argmax(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    shape = x.shape
    if dim is None:
        x, dim = b.RESHAPE(x, [x.size]), 0
        return b.RESHAPE(b.ARGMAX(x, 0), [1] * len(shape) if keepdim else [])
    dim %= x.rank
    y = b.ARGMAX(x, dim)
    return b.RESHAPE(y, [*shape[:dim], 1, *shape[dim + 1 :]]) if keepdim else y


@op("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_ANY", _truth(b, x), dims, keepdim)


@op("aten.all.default", "aten.all.dim", "aten.all.dims")
def all_(b: Builder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_ALL", _truth(b, x), dims, keepdim)


def _truth(b: Builder, x: Value) -> Value:
    return x if x.dtype == torch.bool else b.elementwise("LOGICAL_NOT", b.compare("EQUAL", x, 0))


@op("aten.var.correction", "aten.var.dim", "aten.var.default", quant=Q.PIECEWISE)
def var(
    b: Any, x: Value, dims: Any = None, *args: Any, correction: float | None = None, keepdim: bool = False
) -> Value:
    """Overloads differ: ``var.dim(x, dim, unbiased, keepdim)``, ``var.correction(x, dim, *, correction, keepdim)``."""
    if isinstance(dims, bool):
        dims, args = None, (dims,)
    if args:
        correction = float(args[0])
    if len(args) > 1:
        keepdim = args[1]
    axes = list(range(len(x.shape))) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    n = 1
    for axis in axes:
        n *= x.shape[axis]
    centered = b.aten.sub(x, b.aten.mean(x, axes, True))
    divisor = n - (1.0 if correction is None else correction)
    b.require(divisor > 0, f"has a variance over {n} numbers with correction {correction}")
    spread = b.aten.mean(b.aten.mul(centered, centered), axes, keepdim)
    return spread if divisor == n else b.aten.mul(spread, n / divisor)  # type: ignore[no-any-return]
