"""Gathers: embedding, index_select, gather, index."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Moves, Traits
from ..lowering.values import Value, inverse
from ..support.errors import Rejected


@op("aten.embedding.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, looks_up=1))
def embedding(b: OpBuilder, table: Value, indices: Value, *_: object) -> Value:
    rows = b.GATHER(b.RESHAPE(table, [1, *table.shape]), b.RESHAPE(b.as_index_numbers(indices), [1, indices.size]))
    return b.RESHAPE(rows, [*indices.shape, table.shape[1]])


@op("aten.index_select.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def index_select(b: OpBuilder, x: Value, dim: int, indices: Value) -> Value:
    """Few reals are picked where they lie, from a table per element of the axes in front of the indexed one.

    Others are picked in rows as long as they can be: an index for each would be as large as the result, and many short
    rows of integers take longer than few long ones.
    """
    dim = x.axis(dim)
    lies = inverse(x.axes)
    tables = math.prod(x.shape[axis] for axis in lies[: lies.index(dim)])
    few = x.quant is None and x.dtype.is_floating_point and tables * indices.size <= b.preferences.most_repeated_indices
    order = lies if few else (dim, *(i for i in range(x.rank) if i != dim))
    at, moved = order.index(dim), b.TRANSPOSE(x, order)
    front, (length, *back) = moved.shape[:at], moved.shape[at:]
    places = indices if indices.dtype.is_floating_point else b.as_index_numbers(indices)
    tiled = b.TILE(b.RESHAPE(places, [1, indices.size]), [math.prod(front), 1])
    try:
        rows = b.GATHER(b.RESHAPE(moved, [math.prod(front), length, math.prod(back)]), tiled)
    except Rejected:
        positions = [] if places.const is None else places.const.reshape(-1).tolist()
        if (gathered := b.gather_by_slices([x], dim, [(0, i) for i in positions])) is None:
            raise
        return gathered
    return b.TRANSPOSE(b.RESHAPE(rows, [*front, indices.size, *back]), inverse(order))


@op("aten.index.Tensor", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def index(b: OpBuilder, x: Value, indices: Sequence[Value | None]) -> Value:
    """Several index tensors address one axis, into which their axes are merged."""
    axes, places, before = merged_indices(b, x, indices)
    other_axes = [i for i in range(x.rank) if i not in axes]
    moved = b.TRANSPOSE(x, [*axes, *other_axes])
    other_sizes = list(moved.shape[len(axes) :])
    flat = b.RESHAPE(moved, [math.prod(x.shape[i] for i in axes), *other_sizes])
    try:
        picked = b.RESHAPE(index_select(b, flat, 0, b.RESHAPE(places, [places.size])), [*places.shape, *other_sizes])
    except Rejected:
        if (gathered := _axis_by_axis(b, x, axes, [v for v in indices if v is not None])) is None:
            raise
        return gathered
    n = places.rank
    return b.TRANSPOSE(picked, [*range(n, n + before), *range(n), *range(n + before, picked.rank)])


def _axis_by_axis(b: OpBuilder, x: Value, axes: Sequence[int], indices: Sequence[Value]) -> Value | None:
    """Index tensors that form a grid, such as [H, 1] and [W] of a resized image, pick rows, and columns of these.

    None if they are no grid. Where a target gathers nothing, each axis alone may have few enough runs.
    """
    if len(axes) < 2 or list(axes) != list(range(axes[0], axes[0] + len(axes))):
        return None
    for number, v in enumerate(indices):
        along = len(axes) - 1 - number  # counted from the last axis
        if v.const is None or v.rank > len(axes) or v.rank <= along or v.size != v.shape[v.rank - 1 - along]:
            return None
    for axis, v in zip(axes, indices, strict=True):
        x = index_select(b, x, axis, b.RESHAPE(_counted_from_zero(b, v, x.shape[axis]), [v.size]))
    return x


@op("aten.take.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, contiguous=True))
def take(b: OpBuilder, x: Value, indices: Value) -> Value:
    return index(b, b.RESHAPE(x, [x.size]), [indices])


def merged_indices(b: OpBuilder, x: Value, indices: Sequence[Value | None]) -> tuple[list[int], Value, int]:
    """The axes that index tensors address, indices into them as one, and how many other axes stand before.

    Index tensors that stand apart put their axes in front.
    """
    indexed = [(i, v) for i, v in enumerate(indices) if v is not None]
    axes = [i for i, _ in indexed]
    places: Value | None = None
    for axis, v in indexed:
        b.require(v.dtype != torch.bool, "indexes with a mask, so that the shape depends on data")
        place = _counted_from_zero(b, v, x.shape[axis])
        places = place if places is None else b.ADD(b.MUL(places, x.shape[axis]), place)
    assert places is not None
    side_by_side = axes == list(range(axes[0], axes[0] + len(axes)))
    return axes, places, axes[0] if side_by_side else 0


def _counted_from_zero(b: OpBuilder, indices: Value, length: int) -> Value:
    """Indices for arithmetic; negative ones count from the end."""
    if indices.const is not None:
        return b.const((indices.const % length).to(torch.int32))
    small = b.as_index_numbers(indices)
    if indices.bounds is not None and indices.bounds[0] >= 0:
        return small
    return b.SELECT(b.compare("GREATER", 0, small), b.ADD(small, length), small)


@op("aten.as_strided.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN, contiguous=True))
def as_strided(
    b: OpBuilder, x: Value, shape: Sequence[int], strides: Sequence[int], offset: int | None = None
) -> Value:
    count = math.prod(shape)
    places = torch.arange(x.size).as_strided(tuple(shape), tuple(strides), offset or 0).reshape(-1)
    flat = b.RESHAPE(x, [x.size])
    if count and bool((places == torch.arange(count) + places[0]).all()):
        return b.RESHAPE(b.slice_axis(flat, 0, int(places[0]), count), shape)
    return b.RESHAPE(index_select(b, flat, 0, b.const(places.int())), shape)


@op("aten.gather.default", quant=Q.SHARED, traits=Traits(moves=Moves.CHOSEN))
def gather(b: OpBuilder, x: Value, dim: int, indices: Value, *, sparse_grad: bool = False) -> Value:
    dim = x.axis(dim)
    last = [*(i for i in range(x.rank) if i != dim), dim]
    for i in range(x.rank):
        if i != dim:
            x = b.slice_axis(x, i, 0, indices.shape[i])
    moved, chosen = b.TRANSPOSE(x, last), b.TRANSPOSE(b.as_index_numbers(indices), last)
    lanes = indices.size // indices.shape[dim]
    rows = b.GATHER(b.RESHAPE(moved, [lanes, x.shape[dim], 1]), b.RESHAPE(chosen, [lanes, indices.shape[dim]]))
    back = [last.index(i) for i in range(x.rank)]
    return b.TRANSPOSE(b.RESHAPE(rows, list(chosen.shape)), back)
