"""Sums, means, extremes and the like over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ..lowering.half_precision import in_float32
from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value
from .logic import truth

Dims = int | Sequence[int] | None
#: A result that is emitted only if the program reads it.
_IfRead = Callable[[], Value]


def _axes(x: Value, dims: Dims) -> list[int]:
    if not x.rank or dims is None or (not isinstance(dims, int) and not dims):
        return list(range(x.rank))
    return sorted({d % x.rank for d in ([dims] if isinstance(dims, int) else dims)})


def _finish(b: OpBuilder, y: Value, axes: Sequence[int], keepdim: bool) -> Value:
    return y if keepdim else b.RESHAPE(y, [n for i, n in enumerate(y.shape) if i not in axes])


def _reduced(b: OpBuilder, name: str, x: Value, dims: Dims, keepdim: bool) -> Value:
    axes = _axes(x, dims)
    y = x
    for axis in axes:
        y = b.reduce(name, y, axis)
    return _finish(b, y, axes, keepdim)


@op("aten.sum.dim_IntList", "aten.sum.default", quant=Q.ACCUMULATE, traits=Traits(arithmetic="sum"))
def sum_(
    b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Value:
    if dtype is None and not x.dtype.is_floating_point:
        dtype = torch.int64
    x = x if dtype is None or x.quant else b.cast(x, dtype)
    axes = _axes(x, dims)
    if image := _lying(b, x, axes):
        return _finish(b, _of_image(b, x, axes, image, 1.0), axes, keepdim)
    return _plain_sum(b, x, dims, keepdim)


@in_float32
def _plain_sum(b: OpBuilder, x: Value, dims: Dims, keepdim: bool) -> Value:
    """REDUCE_SUM of float16 keeps its sums in float16, in which 2048 + 1 is 2048."""
    return _reduced(b, "REDUCE_SUM", x, dims, keepdim)


@op("aten.mean.dim", "aten.mean.default", quant=Q.ACCUMULATE, traits=Traits(arithmetic="mean"))
def mean(
    b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Value:
    x = x if dtype is None or x.quant else b.cast(x, dtype)
    axes = _axes(x, dims)
    if x.quant is None and x.rank == 4 and axes == [2, 3]:
        pooled = b.AVG_POOL2D(b.apply_clamp(b.nhwc(x)), x.shape[2:], (1, 1), (0, 0, 0, 0))
        return _finish(b, b.nchw(pooled), axes, keepdim)
    if image := _lying(b, x, axes) or (_image(b, x, axes) if axes == [2, 3] else None):
        return _finish(b, _of_image(b, x, axes, image, 1 / math.prod(x.shape[axis] for axis in axes)), axes, keepdim)
    return _finish(b, _plain_mean(b, x, axes), axes, keepdim)


@in_float32
def _plain_mean(b: OpBuilder, x: Value, axes: list[int]) -> Value:
    return b.mean(x, axes)


#: Rows, columns or channels, at most, of an image that is made of other axes: devices have limits.
_LONGEST = 1 << 16


@dataclass(frozen=True)
class _Image:
    """How a convolution sums over axes.

    Args:
        order: all axes, as the convolution wants them in memory.
        shape: ``[batch, height, width, channels]``, of their elements in that order.
        window: its height and width.
    """

    order: list[int]
    shape: list[int]
    window: tuple[int, int]


def _image(b: OpBuilder, x: Value, axes: Sequence[int]) -> _Image | None:
    """The image of whose pixels a convolution may take sums; None: there is none."""
    widest = 16 if b.spec.support_extension("int16") else 8
    if x.quant is None or x.const is not None or x.quant.bits > widest:
        return None
    if len(axes) == 2 and x.rank == 4:
        first, last = (axis for axis in range(4) if axis not in axes)
        window = _window(b, [x.shape[axis] for axis in axes])
        shape = [x.shape[first], *(window or ()), x.shape[last]]
        return None if window is None else _Image([first, *axes, last], shape, window)
    return _along(b, x, axes[0]) if len(axes) == 1 else None


def _along(b: OpBuilder, x: Value, axis: int) -> _Image | None:
    """As ``_image``, for an axis that is not the last one in memory."""
    order = sorted(range(x.rank), key=lambda each: x.axes[each])
    sizes = [x.shape[each] for each in order]
    before, count, behind = math.prod(sizes[: x.axes[axis]]), x.shape[axis], sizes[x.axes[axis] + 1 :]
    if not x.size or math.prod(behind) == 1 or max(before, math.prod(behind)) > _LONGEST:
        return None
    rows, window = math.prod(behind[:-1]), _window(b, [count, 1])
    if before == rows == 1:
        return None if window is None else _Image(order, [1, *window, behind[-1]], window)
    if count > b.preferences.largest_mean_window:
        return None
    if before == 1:
        return _Image(order, [1, count, rows, behind[-1]], (count, 1))
    return _Image(order, [1, before, count, rows * behind[-1]], (1, count))


def _window(b: OpBuilder, image: Sequence[int]) -> tuple[int, int] | None:
    """Height and width that the target convolves, of as many pixels as the image: a sum may break rows anywhere."""
    largest, count = b.preferences.largest_mean_window, math.prod(image)
    if max(image) <= largest:
        return (image[0], image[1])
    rows = next((n for n in range(math.isqrt(count), 0, -1) if count % n == 0), 1)
    return (rows, count // rows) if count and count // rows <= largest else None


def _lying(b: OpBuilder, x: Value, axes: Sequence[int]) -> _Image | None:
    """The image, if the target prefers a convolution and it lies in memory as that takes it: nothing is moved."""
    image = _image(b, x, axes) if b.preferences.convolved_sums else None
    return image if image is not None and [x.axes[axis] for axis in image.order] == [*range(x.rank)] else None


def _of_image(b: OpBuilder, x: Value, axes: Sequence[int], image: _Image, factor: float) -> Value:
    """The sum over axes times a factor. AVG_POOL2D rounds to the scale of its input, so ones are convolved with."""
    pixels = b.RESHAPE(b.apply_clamp(b.TRANSPOSE(x, image.order)), image.shape)
    weight = b.equal_weights((*image.window, image.shape[3], 1), factor, pixels)
    sums = b.conv("DEPTHWISE_CONV2D", pixels, weight, None, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1))
    sums = b.RESHAPE(sums, [1 if axis in axes else x.shape[axis] for axis in image.order])
    return b.TRANSPOSE(sums, [image.order.index(axis) for axis in range(x.rank)])


@op("aten.amax.default", "aten.max.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def amax(b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_MAX", x, dims, keepdim)


@op("aten.amin.default", "aten.min.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def amin(b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_MIN", x, dims, keepdim)


@op("aten.max.dim", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def max_dim(b: OpBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[_IfRead, _IfRead]:
    return lambda: amax(b, x, dim, keepdim), lambda: argmax(b, x, dim, keepdim)


@op("aten.min.dim", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def min_dim(b: OpBuilder, x: Value, dim: int, keepdim: bool = False) -> tuple[_IfRead, _IfRead]:
    return lambda: amin(b, x, dim, keepdim), lambda: argmin(b, x, dim, keepdim)


@op("aten.argmax.default", quant=Q.SHARED)
def argmax(b: OpBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    shape = x.shape
    if dim is None or not x.rank:
        return b.RESHAPE(b.ARGMAX(b.RESHAPE(x, [x.size]), 0), [1] * len(shape) if keepdim else [])
    dim = x.axis(dim)
    y = b.ARGMAX(x, dim)
    return b.RESHAPE(y, [*shape[:dim], 1, *shape[dim + 1 :]]) if keepdim else y


@op("aten.argmin.default", quant=Q.SHARED)
def argmin(b: OpBuilder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    # ~n is -n - 1 for any integer n, in its own type: the order is reversed and nothing overflows
    plain = x.quant is None and x.dtype.is_floating_point
    return argmax(b, b.NEGATE(x) if plain else b.elementwise("BITWISE_NOT", b.apply_clamp(x)), dim, keepdim)


@op("aten.any.default", "aten.any.dim", "aten.any.dims", quant=Q.ARITHMETIC)
def any_(b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_ANY", truth(b, x), dims, keepdim)


@op("aten.all.default", "aten.all.dim", "aten.all.dims", quant=Q.ARITHMETIC)
def all_(b: OpBuilder, x: Value, dims: Dims = None, keepdim: bool = False) -> Value:
    return _reduced(b, "REDUCE_ALL", truth(b, x), dims, keepdim)


def _product_of_halves(
    b: CompositeBuilder[V], x: V, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> V:
    """Halves are multiplied until one number is left."""
    if dtype is None and not x.dtype.is_floating_point:
        dtype = torch.int64
    b.require(dtype in (None, x.dtype) or not dtype.is_floating_point, f"computes a product in {dtype}")
    x = x if dtype in (None, x.dtype) else b.aten.to(x, dtype)
    if dim is None or not x.rank:
        product = _halves_multiplied(b, b.aten.reshape(x, [x.size]), 0, False)
        return b.aten.reshape(product, [1] * x.rank) if keepdim else product
    return _halves_multiplied(b, x, dim, keepdim)


@op("aten.prod.dim_int", "aten.prod.default", quant=Q.PIECEWISE, decomposition=_product_of_halves)
def prod(
    b: OpBuilder, x: Value, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Value:
    """REDUCE_PRODUCT has no integer form."""
    if not (dtype or x.dtype).is_floating_point:
        return _product_of_halves(b, x, dim, keepdim, dtype=dtype)
    x = b.real(x)
    return _reduced(b, "REDUCE_PRODUCT", x if dtype is None else b.cast(x, dtype), dim, keepdim)


def _halves_multiplied(b: CompositeBuilder[V], x: V, dim: int, keepdim: bool) -> V:
    b.require(
        isinstance(x.shape[dim], int), "multiplies along an axis whose size varies", "export with this size fixed"
    )
    odd: V | None = None
    while (n := x.shape[dim]) > 1:
        half = n // 2
        if n % 2:
            last = b.aten.slice(x, dim, n - 1, n)
            odd = last if odd is None else b.aten.mul(odd, last)
        x = b.aten.mul(b.aten.slice(x, dim, 0, half), b.aten.slice(x, dim, half, 2 * half))
    x = x if odd is None else b.aten.mul(x, odd)
    return x if keepdim else b.aten.squeeze(x, dim)


@op("aten.cumsum.default", quant=Q.ACCUMULATE)
def cumsum(b: OpBuilder, x: Value, dim: int, *, dtype: torch.dtype | None = None) -> Value:
    """Adds the tensor, shifted by 1, 2, 4, ...: each step doubles how many numbers are added up."""
    if not x.rank:
        return x
    n = x.shape[dim]
    summed = x
    if x.quant is not None:
        summed = b.centered(x, 31 - (n - 1).bit_length())
        x = b.integers(summed).replace(bounds=(-1, 1))
    else:
        x = b.cast(x, dtype or (x.dtype if x.dtype.is_floating_point else torch.int64))
        b.require_sums(x, n)
    x = _plain_cumsum(b, x, x.axis(dim))
    return x if summed.quant is None else b.reals(x.replace(bounds=None), summed, terms=n)


@in_float32
def _plain_cumsum(b: OpBuilder, x: Value, axis: int) -> Value:
    """Of float16, sums of numbers in the middle leave it where those from the first one on do not."""
    n = x.shape[axis]
    shift = 1
    while shift < n:
        pairs = [(shift if i == axis else 0, 0) for i in range(x.rank)]
        shifted = b.PAD(b.slice_axis(x, axis, 0, n - shift), pairs)
        x = b.wrapped("ADD", x, shifted.replace(bounds=x.bounds and (min(x.bounds[0], 0), max(x.bounds[1], 0))))
        shift *= 2
    return x


@op("aten.linalg_vector_norm.default", quant=Q.PIECEWISE)
@in_float32
def vector_norm(
    b: CompositeBuilder[V],
    x: V,
    order: float = 2,
    dims: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> V:
    b.require(dtype in (None, x.dtype), f"computes a norm in {dtype}")
    axes = list(range(len(x.shape))) if dims is None else dims
    if abs(order) == math.inf:
        return (b.aten.amax if order > 0 else b.aten.amin)(b.aten.abs(x), axes, keepdim)
    if order == 0:
        return b.aten.sum(b.aten.to(b.aten.ne(x, 0.0), x.dtype), axes, keepdim)
    if order == 1:
        return b.aten.sum(b.aten.abs(x), axes, keepdim)
    if order == 2:
        return b.aten.sqrt(b.aten.sum(b.aten.mul(x, x), axes, keepdim))
    powers = b.aten.pow(b.aten.abs(x), order)
    return b.aten.pow(b.aten.sum(powers, axes, keepdim), 1 / order)


@op("aten.logsumexp.default", quant=Q.PIECEWISE)
@in_float32
def logsumexp(b: CompositeBuilder[V], x: V, dims: Dims, keepdim: bool = False) -> V:
    """The largest number is taken out first; where that is infinite, the largest finite one, for inf - inf is NaN."""
    if not x.dtype.is_floating_point:
        x = b.aten.to(x, torch.float32)
    most = torch.finfo(x.dtype).max
    top = b.aten.clamp(b.aten.amax(x, dims, True), -most, most)
    y = b.aten.add(b.aten.log(b.aten.sum(b.aten.exp(b.aten.sub(x, top)), dims, True)), top)
    return y if keepdim else b.aten.squeeze(y, dims)


@op("aten.std_mean.correction", quant=Q.PIECEWISE)
@in_float32
def std_mean(
    b: CompositeBuilder[V], x: V, dims: Dims = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[V, V]:
    spread, mean = var_mean(b, x, dims, correction=correction, keepdim=keepdim)
    return b.aten.sqrt(spread), mean


@op("aten.std.correction", "aten.std.dim", "aten.std.default", quant=Q.PIECEWISE)
@in_float32
def std(
    b: CompositeBuilder[V],
    x: V,
    dims: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> V:
    return b.aten.sqrt(var(b, x, dims, unbiased, keepdim, correction=correction))


@op("aten.var_mean.correction", quant=Q.PIECEWISE)
@in_float32
def var_mean(
    b: CompositeBuilder[V], x: V, dims: Dims = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[V, V]:
    axes = list(range(len(x.shape))) if dims is None else dims
    return var(b, x, axes, correction=correction, keepdim=keepdim), b.aten.mean(x, axes, keepdim)


@op("aten.var.correction", "aten.var.dim", "aten.var.default", quant=Q.PIECEWISE)
@in_float32
def var(
    b: CompositeBuilder[V],
    x: V,
    dims: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> V:
    """Overloads differ: ``var.dim(x, dim, unbiased, keepdim)``, ``var.correction(x, dim, *, correction, keepdim)``."""
    if isinstance(dims, bool):  # var.default(x, unbiased)
        dims, unbiased = None, dims
    if unbiased is not None:
        correction = float(unbiased)
    axes = list(range(len(x.shape))) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    n = math.prod(x.shape[axis] for axis in axes)
    centered = b.aten.sub(x, b.aten.mean(x, axes, True))
    divisor = n - (1.0 if correction is None else correction)
    b.require(divisor > 0, f"has a variance over {n} numbers with correction {correction}")
    spread = b.aten.mean(b.aten.mul(centered, centered), axes, keepdim)
    return spread if divisor == n else b.aten.mul(spread, n / divisor)
