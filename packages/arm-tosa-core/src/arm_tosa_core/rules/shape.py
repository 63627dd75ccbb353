"""Operators that move data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

import torch

from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value
from .index import index_select


@op(
    "aten.view.default",
    "aten.reshape.default",
    "aten._unsafe_view.default",
    "aten._reshape_alias.default",
    quant=Q.SHARED,
    traits=Traits(moves=Moves.IN_ORDER),
)
def view(b: OpBuilder, x: Value, shape: Sequence[int], *_: object) -> Value:
    return b.RESHAPE(x, _resolved(x.size, shape))


def _resolved(size: int, shape: Sequence[int]) -> list[int]:
    product = math.prod(n for n in shape if n != -1)
    return [size // max(product, 1) if n == -1 else n for n in shape]


@op("aten.flatten.using_ints", quant=Q.SHARED, traits=Traits(moves=Moves.IN_ORDER))
def flatten(b: OpBuilder, x: Value, start: int = 0, stop: int = -1) -> Value:
    if not x.rank:
        return b.RESHAPE(x, [1])
    start, stop = start % x.rank, stop % x.rank
    return b.RESHAPE(x, _resolved(x.size, [*x.shape[:start], -1, *x.shape[stop + 1 :]]))


@op("aten.unflatten.int", quant=Q.SHARED, traits=Traits(moves=Moves.IN_ORDER))
def unflatten(b: OpBuilder, x: Value, dim: int, sizes: Sequence[int]) -> Value:
    dim = x.axis(dim)
    return b.RESHAPE(x, [*x.shape[:dim], *_resolved(x.shape[dim], sizes), *x.shape[dim + 1 :]])


@op(
    "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default", quant=Q.SHARED, traits=Traits(moves=Moves.IN_ORDER)
)
def squeeze(b: OpBuilder, x: Value, dims: int | Sequence[int] | None = None) -> Value:
    axes = range(x.rank) if dims is None else [dims] if isinstance(dims, int) else dims
    drop = {d % x.rank for d in axes} if x.rank else set()
    return b.RESHAPE(x, [n for i, n in enumerate(x.shape) if n != 1 or i not in drop])


@op("aten.unsqueeze.default", quant=Q.SHARED, traits=Traits(moves=Moves.IN_ORDER))
def unsqueeze(b: OpBuilder, x: Value, dim: int) -> Value:
    dim %= x.rank + 1
    return b.RESHAPE(x, [*x.shape[:dim], 1, *x.shape[dim:]])


def _unpermuted(b: CompositeBuilder[V], x: V, value: V, dims: Sequence[int]) -> V:
    order = [axis % x.rank for axis in dims]
    return b.aten.permute(value, [order.index(axis) for axis in range(x.rank)])


@op("aten.permute.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, assign=_unpermuted))
def permute(b: OpBuilder, x: Value, dims: Sequence[int]) -> Value:
    return b.TRANSPOSE(x, dims)


def _transposed_back(b: CompositeBuilder[V], x: V, value: V, i: int, j: int) -> V:
    return b.aten.transpose(value, i, j)


@op("aten.transpose.int", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, assign=_transposed_back))
def transpose(b: OpBuilder, x: Value, i: int, j: int) -> Value:
    if not x.rank:  # PyTorch takes 0 for an axis of a scalar
        return x
    perm = list(range(x.rank))
    perm[i], perm[j] = perm[j], perm[i]
    return b.TRANSPOSE(x, perm)


def _t_back(b: CompositeBuilder[V], x: V, value: V) -> V:
    return b.aten.permute(value, list(range(x.rank))[::-1])


@op("aten.t.default", "aten.numpy_T.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, assign=_t_back))
def t(b: OpBuilder, x: Value) -> Value:
    return b.TRANSPOSE(x, list(range(x.rank))[::-1])


@op("aten.expand.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def expand(b: OpBuilder, x: Value, shape: Sequence[int], *, implicit: bool = False) -> Value:
    x = b.lift(x, len(shape))
    return b.TILE(x, [1 if n in (-1, m) else n // m for n, m in zip(shape, x.shape, strict=True)])


@op("aten.expand_as.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def expand_as(b: OpBuilder, x: Value, other: Value) -> Value:
    return expand(b, x, other.shape)


@op("aten.repeat.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def repeat(b: OpBuilder, x: Value, repeats: Sequence[int]) -> Value:
    return b.TILE(b.lift(x, len(repeats)), repeats)


@op("aten.cat.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def cat(b: OpBuilder, values: Sequence[Value], dim: int = 0) -> Value:
    values = [v for v in values if v.shape != (0,)]  # PyTorch lets an empty vector stand for nothing
    dtype = values[0].dtype
    for v in values:
        dtype = torch.promote_types(dtype, v.dtype)
    return b.CONCAT([v if v.quant else b.cast(v, dtype) for v in values], dim % values[0].rank)


@op("aten.stack.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def stack(b: OpBuilder, values: Sequence[Value], dim: int = 0) -> Value:
    dim %= values[0].rank + 1
    return b.CONCAT([unsqueeze(b, v, dim) for v in values], dim)


def _into_slice(b: CompositeBuilder[V], x: V, value: V, *place: int | None) -> V:
    return b.aten.slice_scatter(x, value, *place)


@op("aten.slice.Tensor", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, assign=_into_slice))
def slice_(
    b: OpBuilder, x: Value, dim: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Value:
    dim = x.axis(dim)
    first, last, step = slice(start, stop, step).indices(x.shape[dim])
    count = max(0, -(-(last - first) // step))
    if step == 1:
        return b.slice_axis(x, dim, first, count)
    return _strided(b, x, dim, first, count, step)


def _strided(b: OpBuilder, x: Value, dim: int, first: int, count: int, step: int) -> Value:
    """Every ``step``-th element: rows of ``step``, of which the first is kept."""
    if x.rank == 6:  # leaves no axis for the rows
        flat = [math.prod(x.shape[:dim]), x.shape[dim], math.prod(x.shape[dim + 1 :])]
        y = _strided(b, b.RESHAPE(x, flat), 1, first, count, step)
        return b.RESHAPE(y, [*x.shape[:dim], count, *x.shape[dim + 1 :]])
    length = count * step
    x = b.slice_axis(x, dim, first, min(length, x.shape[dim] - first))
    missing = length - x.shape[dim]
    x = b.PAD(x, [(0, missing if i == dim else 0) for i in range(x.rank)])
    shape = list(x.shape)
    rows = b.RESHAPE(x, [*shape[:dim], count, step, *shape[dim + 1 :]])
    return squeeze(b, b.slice_axis(rows, dim + 1, 0, 1), dim + 1)


@op("aten.narrow.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def narrow(b: OpBuilder, x: Value, dim: int, start: int, length: int) -> Value:
    return b.slice_axis(x, x.axis(dim), start % x.shape[dim], length)


def _into_place(b: CompositeBuilder[V], x: V, value: V, dim: int, index: int) -> V:
    return b.aten.select_scatter(x, value, dim, index)


@op("aten.select.int", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, assign=_into_place))
def select(b: OpBuilder, x: Value, dim: int, index: int) -> Value:
    dim = x.axis(dim)
    return squeeze(b, b.slice_axis(x, dim, index % x.shape[dim], 1), dim)


@op("aten.unbind.int", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def unbind(b: OpBuilder, x: Value, dim: int = 0) -> tuple[Value, ...]:
    return tuple(select(b, x, dim, i) for i in range(x.shape[dim]))


@op("aten.split_with_sizes.default", "aten.split.sizes", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def split_with_sizes(b: OpBuilder, x: Value, sizes: Sequence[int], dim: int = 0) -> tuple[Value, ...]:
    starts = accumulate(sizes, initial=0)
    return tuple(b.slice_axis(x, x.axis(dim), start, size) for start, size in zip(starts, sizes, strict=False))


@op("aten.split.Tensor", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def split(b: OpBuilder, x: Value, size: int, dim: int = 0) -> tuple[Value, ...]:
    n = x.shape[dim]
    return split_with_sizes(b, x, [min(size, n - i) for i in range(0, n, size)], dim)


@op("aten.chunk.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def chunk(b: OpBuilder, x: Value, chunks: int, dim: int = 0) -> tuple[Value, ...]:
    return split(b, x, -(-x.shape[dim] // chunks), dim)


@op("aten.constant_pad_nd.default", quant=Q.SHARED)
def constant_pad_nd(b: OpBuilder, x: Value, padding: Sequence[int], number: float = 0.0) -> Value:
    pairs = [(0, 0)] * x.rank
    for i in range(len(padding) // 2):
        pairs[x.rank - 1 - i] = (padding[2 * i], padding[2 * i + 1])
    for i, (before, after) in enumerate(pairs):  # negative padding crops
        crop = (max(0, -before), max(0, -after))
        x = b.slice_axis(x, i, crop[0], x.shape[i] - sum(crop))
    return b.PAD(x, [(max(0, p), max(0, q)) for p, q in pairs], number)


@op("aten.pad.default", quant=Q.SHARED)
def pad(b: OpBuilder, x: Value, padding: Sequence[int], mode: str = "constant", number: float | None = None) -> Value:
    if mode == "constant":
        return constant_pad_nd(b, x, padding, number or 0.0)
    return {"reflect": reflect, "replicate": replicate, "circular": circular}[mode](b, x, padding)


def _extended(
    b: OpBuilder, x: Value, padding: Sequence[int], border: Callable[[Value, int, int, bool], Value]
) -> Value:
    """Padding whose numbers come from the tensor: ``border(x, axis, width, front)`` makes one side.

    Negative padding crops.
    """
    for i, (before, after) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        axis = x.rank - 1 - i
        crop = (max(0, -before), max(0, -after))
        x = b.slice_axis(x, axis, crop[0], x.shape[axis] - sum(crop))
        sides = [border(x, axis, n, front) if n > 0 else None for n, front in ((before, True), (after, False))]
        x = b.CONCAT([v for v in (sides[0], x, sides[1]) if v is not None], axis)
    return x


@op(*(f"aten.reflection_pad{n}d.default" for n in (1, 2, 3)), quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def reflect(b: OpBuilder, x: Value, padding: Sequence[int]) -> Value:
    def border(x: Value, axis: int, width: int, front: bool) -> Value:
        return flip(b, b.slice_axis(x, axis, 1 if front else x.shape[axis] - 1 - width, width), [axis])

    return _extended(b, x, padding, border)


@op(*(f"aten.replication_pad{n}d.default" for n in (1, 2, 3)), quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def replicate(b: OpBuilder, x: Value, padding: Sequence[int]) -> Value:
    def border(x: Value, axis: int, width: int, front: bool) -> Value:
        edge = b.slice_axis(x, axis, 0 if front else x.shape[axis] - 1, 1)
        return b.TILE(edge, [width if i == axis else 1 for i in range(x.rank)])

    return _extended(b, x, padding, border)


def circular(b: OpBuilder, x: Value, padding: Sequence[int]) -> Value:
    def border(x: Value, axis: int, width: int, front: bool) -> Value:
        return b.slice_axis(x, axis, x.shape[axis] - width if front else 0, width)

    return _extended(b, x, padding, border)


@op("aten.roll.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def roll(b: OpBuilder, x: Value, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Value:
    shifts, dims = ([v] if isinstance(v, int) else list(v) for v in (shifts, dims))
    if not dims:
        return b.RESHAPE(roll(b, b.RESHAPE(x, [x.size]), shifts, [0]), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        dim = x.axis(dim)
        cut = -shift % max(1, x.shape[dim])
        if cut:
            x = b.CONCAT([b.slice_axis(x, dim, cut, x.shape[dim] - cut), b.slice_axis(x, dim, 0, cut)], dim)
    return x


@op("aten.unfold.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def unfold(b: OpBuilder, x: Value, dim: int, size: int, step: int) -> Value:
    dim = x.axis(dim)
    count = (x.shape[dim] - size) // step + 1
    if size == step:
        rows = b.slice_axis(x, dim, 0, count * size)
    else:
        places = torch.arange(count).unsqueeze(1) * step + torch.arange(size)
        rows = index_select(b, x, dim, b.const(places.reshape(-1)))
    windows = b.RESHAPE(rows, [*x.shape[:dim], count, size, *x.shape[dim + 1 :]])
    return b.TRANSPOSE(windows, [i for i in range(windows.rank) if i != dim + 1] + [dim + 1])


@op("aten.diagonal.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def diagonal(b: OpBuilder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    dim1, dim2 = dim1 % x.rank, dim2 % x.rank
    last = b.TRANSPOSE(x, [*(i for i in range(x.rank) if i not in (dim1, dim2)), dim1, dim2])
    *batch, rows, columns = last.shape
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    first = max(offset, 0) - min(offset, 0) * columns
    flat = b.RESHAPE(last, [*batch, rows * columns])
    return slice_(b, flat, -1, first, first + (count - 1) * (columns + 1) + 1, columns + 1)


@op("aten.pixel_shuffle.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def pixel_shuffle(b: OpBuilder, x: Value, factor: int) -> Value:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split_ = b.RESHAPE(x, [*batch, channels // factor**2, factor, factor, height, width])
    moved = b.TRANSPOSE(split_, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return b.RESHAPE(moved, [*batch, channels // factor**2, height * factor, width * factor])


@op("aten.pixel_unshuffle.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def pixel_unshuffle(b: OpBuilder, x: Value, factor: int) -> Value:
    *batch, channels, height, width = x.shape
    n = len(batch)
    split_ = b.RESHAPE(x, [*batch, channels, height // factor, factor, width // factor, factor])
    moved = b.TRANSPOSE(split_, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return b.RESHAPE(moved, [*batch, channels * factor**2, height // factor, width // factor])


@op("aten.flip.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def flip(b: OpBuilder, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims:
        x = b.REVERSE(b.apply_clamp(x), x.axis(dim))
    return x


@op(
    "aten.clone.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.contiguous.default",
    "aten.lift_fresh.default",
    "aten.lift.default",
    quant=Q.SHARED,
    traits=Traits(moves=Moves.AS_IS, homogeneous=True),
)
def clone(b: OpBuilder, x: Value, *_: object, **__: object) -> Value:
    return x
