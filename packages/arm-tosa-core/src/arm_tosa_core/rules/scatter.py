"""Writes into parts of a tensor: scatter, index_put, slice_scatter and their like.

TOSA's SCATTER writes each place once. Constant indices that repeat are reduced to the last, as PyTorch's CPU has it;
those that are computed must not repeat, since PyTorch leaves that undefined too. Sums at repeated indices are sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Operand, Value, of_type
from ..support.errors import Rejected
from .index import index_select, merged_indices
from .shape import expand, squeeze, unsqueeze


def _written(b: OpBuilder, x: Value, places: Value, new: Value, how: str | None, itself: bool = True) -> Value:
    """``x`` [N, K, C] with ``new`` [N, W, C] written at ``places`` [N, W], or combined with the rows there.

    Args:
        how: None to write, or a key of ``_TOGETHER``, or ``mean``.
        itself: whether the old rows count in places that receive new ones.
    """
    if how is not None:
        return _together(b, x, places, new, how, itself)
    if new.const is not None and bool((new.const == new.const.reshape(-1)[0]).all()):  # however often at one place
        hit = _anywhere(b, _hits(b, x.shape[1], places))
        return b.SELECT(hit, b.const(new.real().reshape(-1)[:1]), x)
    if places.const is not None:
        last = _last_of_each(places.const)
        if last is not None:
            places, new = b.const(places.const[:, last]), index_select(b, new, 1, b.const(last))
    try:
        return b.SCATTER(x, places, new)
    except Rejected:
        if places.const is None or bool((places.const != places.const[:1]).any()):
            raise
        source = {int(k): (1, w) for w, k in enumerate(places.const[0])}
        if (gathered := b.gather_by_slices([x, new], 1, [source.get(k, (0, k)) for k in range(x.shape[1])])) is None:
            raise
        return gathered


def _last_of_each(places: torch.Tensor) -> torch.Tensor | None:
    """Positions of the last of equal indices, the same for each row; None if none repeats."""
    rows = {tuple({int(k): i for i, k in enumerate(row)}.values()) for row in places}
    (positions,) = rows if len(rows) == 1 else (tuple(range(places.shape[1])),)
    return None if len(positions) == places.shape[1] else torch.tensor(sorted(positions))


#: A way to combine numbers: the reduction, its result of two numbers, and its neutral number.
_TOGETHER: dict[str, tuple[str, Callable[[OpBuilder, Value, Value], Value], float]] = {
    "sum": ("REDUCE_SUM", lambda b, x, y: b.wrapped("ADD", x, y), 0.0),
    "prod": ("REDUCE_PRODUCT", lambda b, x, y: b.wrapped("MUL", x, y), 1.0),
    "amax": ("REDUCE_MAX", lambda b, x, y: b.MAXIMUM(x, y), -math.inf),
    "amin": ("REDUCE_MIN", lambda b, x, y: b.MINIMUM(x, y), math.inf),
}


def _together(b: OpBuilder, x: Value, places: Value, new: Value, how: str, itself: bool) -> Value:
    """See ``_written``."""
    b.require(x.dtype != torch.bool, "puts truth values together")
    hits = _hits(b, x.shape[1], places)
    name, pair, neutral = _TOGETHER["sum" if how == "mean" else how]
    if not x.dtype.is_floating_point:
        b.require(how != "mean", "computes a mean of integers")
        limits = torch.iinfo(x.dtype)
        neutral = int(min(max(neutral, limits.min), limits.max))
    parts = b.SELECT(hits, b.in_order(b.RESHAPE(new, [new.shape[0], 1, *new.shape[1:]])), neutral)
    result = squeeze(b, b.reduce(name, parts, 2), 2)
    if itself:
        result = pair(b, x, result)
    if how == "mean":
        result = b.MUL(result, _share(b, hits, itself))
    return result if itself else b.SELECT(_anywhere(b, hits), result, x)


def _share(b: OpBuilder, hits: Value, itself: bool) -> Value:
    """1 / how many numbers come together at each place, [N, K, 1]."""
    if hits.const is not None:
        return b.const(1.0 / (hits.const.sum(2) + itself).clamp(min=1).float())
    count = squeeze(b, b.reduce("REDUCE_SUM", b.cast(hits, torch.float32), 2), 2)
    return b.unary("RECIPROCAL", b.ADD(count, 1.0) if itself else b.MAXIMUM(count, 1.0))


def _anywhere(b: OpBuilder, hits: Value) -> Value:
    """Whether anything comes to each place, [N, K, 1]."""
    return b.const(hits.const.any(2)) if hits.const is not None else squeeze(b, b.reduce("REDUCE_ANY", hits, 2), 2)


def _hits(b: OpBuilder, length: int, places: Value) -> Value:
    """Whether place k is index w: [N, K, W, 1]."""
    n, width = places.shape
    all_places = torch.arange(length, dtype=torch.int32).reshape(1, -1, 1, 1)
    if places.const is not None:
        return b.const(places.const.reshape(n, 1, width, 1) == all_places)
    return b.compare("EQUAL", b.const(all_places), b.in_order(b.RESHAPE(places, [n, 1, width, 1])))


# -- one index per element --------------------------------------------------------------------------


def _scattered(
    b: OpBuilder, x: Value, dim: int, indices: Value, src: Value, how: str | None = None, itself: bool = True
) -> Value:
    if not x.rank:
        x, indices, src = (b.RESHAPE(v, [1]) for v in (x, indices, src))
        return b.RESHAPE(_scattered(b, x, 0, indices, src, how, itself), [])
    dim = x.axis(dim)
    part = src
    for axis, n in enumerate(indices.shape):
        part = b.slice_axis(part, axis, 0, n)
    inside = x
    for axis, n in enumerate(indices.shape):
        inside = inside if axis == dim else b.slice_axis(inside, axis, 0, n)
    last = [*(i for i in range(x.rank) if i != dim), dim]
    lanes = indices.size // indices.shape[dim]
    rows = [b.RESHAPE(b.TRANSPOSE(v, last), [lanes, v.shape[dim], 1]) for v in (inside, part)]
    places = b.RESHAPE(b.TRANSPOSE(b.as_index_numbers(indices), last), [lanes, indices.shape[dim]])
    written = _written(b, rows[0], places, rows[1], how, itself)
    back = b.TRANSPOSE(b.RESHAPE(written, [inside.shape[i] for i in last]), [last.index(i) for i in range(x.rank)])
    return _pasted(b, x, back, 0)


def _pasted(b: OpBuilder, x: Value, corner: Value, axis: int) -> Value:
    """``x`` with its first corner, of another's shape, replaced."""
    if axis == x.rank:
        return corner
    n = corner.shape[axis]
    inner = _pasted(b, b.slice_axis(x, axis, 0, n), corner, axis + 1)
    return b.CONCAT([inner, b.slice_axis(x, axis, n, x.shape[axis] - n)], axis) if n < x.shape[axis] else inner


_REDUCTIONS = {"add": "sum", "multiply": "prod"}


@op("aten.scatter.src", "aten.scatter.value", quant=Q.SHARED)
@op("aten.scatter.reduce", "aten.scatter.value_reduce", quant=Q.ARITHMETIC)
def scatter(
    b: OpBuilder, x: Value, dim: int, indices: Value, src: Value | float, *, reduce: str | None = None
) -> Value:
    src = src if isinstance(src, Value) else b.const(torch.full(indices.shape, src, dtype=x.dtype))
    return _scattered(b, x, dim, indices, src, reduce and _REDUCTIONS[reduce])


@op("aten.scatter_add.default", quant=Q.ARITHMETIC)
def scatter_add(b: OpBuilder, x: Value, dim: int, indices: Value, src: Value) -> Value:
    return _scattered(b, x, dim, indices, src, "sum")


@op("aten.scatter_reduce.two", quant=Q.ARITHMETIC)
def scatter_reduce(
    b: OpBuilder, x: Value, dim: int, indices: Value, src: Value, reduce: str, *, include_self: bool = True
) -> Value:
    return _scattered(b, x, dim, indices, src, reduce, include_self)


# -- index tensors ----------------------------------------------------------------------------------


@op(
    "aten.index_put.default",
    "aten._unsafe_index_put.default",
    quant=Q.SHARED,
    traits=Traits(adds=lambda x, indices, new, accumulate=False: accumulate),
)
def index_put(b: OpBuilder, x: Value, indices: Sequence[Value | None], new: Value, accumulate: bool = False) -> Value:
    masks = [(i, v) for i, v in enumerate(indices) if v is not None and v.dtype in (torch.bool, torch.uint8)]
    if masks:
        return _masked(b, x, indices, masks, new, accumulate)
    axes, places, before = merged_indices(b, x, indices)
    other_axes = [i for i in range(x.rank) if i not in axes]
    moved = b.TRANSPOSE(x, [*axes, *other_axes])
    other_sizes = [x.shape[i] for i in other_axes]
    n = places.rank
    full = expand(b, new, [*other_sizes[:before], *places.shape, *other_sizes[before:]])
    full = b.TRANSPOSE(full, [*range(before, before + n), *range(before), *range(before + n, full.rank)])
    size = x.size // max(1, _product(other_sizes))
    written = _written(
        b,
        b.RESHAPE(moved, [1, size, _product(other_sizes)]),
        b.RESHAPE(places, [1, places.size]),
        b.RESHAPE(full, [1, places.size, _product(other_sizes)]),
        "sum" if accumulate else None,
    )
    order = [*axes, *other_axes]
    return b.TRANSPOSE(b.RESHAPE(written, moved.shape), [order.index(i) for i in range(x.rank)])


def _along(dim: int, x: Value, indices: Value) -> list[Value | None]:
    return [*[None] * x.axis(dim), indices]


@op("aten.index_copy.default", quant=Q.SHARED)
def index_copy(b: OpBuilder, x: Value, dim: int, indices: Value, new: Value) -> Value:
    return index_put(b, x, _along(dim, x, indices), new)


@op("aten.index_add.default", quant=Q.ARITHMETIC)
def index_add(b: OpBuilder, x: Value, dim: int, indices: Value, new: Value, *, alpha: float = 1) -> Value:
    return index_put(b, x, _along(dim, x, indices), new if alpha == 1 else b.wrapped("MUL", new, alpha), True)


@op("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", quant=Q.SHARED)
def index_fill(b: OpBuilder, x: Value, dim: int, indices: Value, number: Operand) -> Value:
    if not isinstance(number, Value):
        return index_put(b, x, _along(dim, x, indices), b.const(of_type(number, x.dtype)))
    (dim,), places, _ = merged_indices(b, x, _along(dim, x, indices))
    hits = _hits(b, x.shape[dim], b.RESHAPE(places, [1, places.size]))
    hit = b.RESHAPE(_anywhere(b, hits), [n if i == dim else 1 for i, n in enumerate(x.shape)])
    return b.SELECT(hit, number, x)


def _product(sizes: Sequence[int]) -> int:
    return int(torch.Size(sizes).numel())


def _masked(
    b: OpBuilder,
    x: Value,
    indices: Sequence[Value | None],
    masks: Sequence[tuple[int, Value]],
    new: Value,
    accumulate: bool,
) -> Value:
    """One number, or one per place behind the mask, where a mask says so; the mask may span several axes."""
    (first, mask), *more = masks
    alone = not more and all(v is None for i, v in enumerate(indices) if i != first)
    b.require(alone, "writes at masks and indices together")
    behind = x.rank - first - mask.rank
    b.require(new.size == 1 or (new.rank <= behind), "writes tensors where a mask says, so that places depend on data")
    mask = b.RESHAPE(b.cast(mask, torch.bool), [1] * first + list(mask.shape) + [1] * behind)
    new = b.RESHAPE(new, []) if new.size == 1 else new
    return b.SELECT(mask, b.wrapped("ADD", x, new) if accumulate else new, x)


# -- parts that are known ---------------------------------------------------------------------------


@op("aten.slice_scatter.default", quant=Q.SHARED)
def slice_scatter(
    b: OpBuilder, x: Value, src: Value, dim: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Value:
    dim = x.axis(dim)
    places = range(*slice(start, stop, step).indices(x.shape[dim]))
    if not places:
        return x
    if step == 1:
        first, last = places[0], places[-1] + 1
        ends = ((0, first), (last, x.shape[dim] - last))
        before, after = ([b.slice_axis(x, dim, at, n)] if n else [] for at, n in ends)
        return b.CONCAT([*before, src, *after], dim)
    return index_put(b, x, [*[None] * dim, b.const(torch.tensor(places))], src)


@op("aten.select_scatter.default", quant=Q.SHARED)
def select_scatter(b: OpBuilder, x: Value, src: Value, dim: int, index: int) -> Value:
    dim = x.axis(dim)
    index %= x.shape[dim]
    return slice_scatter(b, x, unsqueeze(b, src, dim), dim, index, index + 1)


@op("aten.diagonal_scatter.default", quant=Q.SHARED)
def diagonal_scatter(b: OpBuilder, x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    places = torch.arange(x.size).reshape(x.shape).diagonal(offset, dim1, dim2)
    rows = (b.RESHAPE(x, [1, x.size, 1]), b.const(places.reshape(1, -1).int()), b.RESHAPE(src, [1, src.size, 1]))
    return b.RESHAPE(_written(b, *rows, None), x.shape)
