"""Numbers in order: sort, topk, kthvalue, median.

TOSA sorts nothing, but compares: a number's place is how many come before it, and SCATTER puts it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import Q, op
from ..lowering.values import Value

_Part: TypeAlias = "slice[int | None, int | None, None]"
#: Values and indices, each emitted only if the program reads it.
Pair: TypeAlias = "tuple[Callable[[], Value], Callable[[], Value]]"
_ALL: _Part = slice(None, None)

#: Comparisons at most; each takes four bytes.
_MOST = 1 << 22


def _ordered(b: OpBuilder, x: Value, dim: int, descending: bool, part: _Part = _ALL, keepdim: bool = True) -> Pair:
    """Numbers along an axis in order, equal ones as they stood, and their indices (int64).

    Args:
        part: the slice of the ordered numbers to return.
        keepdim: whether the axis stays.
    """
    if not x.rank:
        return _ordered(b, b.RESHAPE(x, [1]), 0, descending, keepdim=False)
    dim = x.axis(dim)
    n, last = x.shape[dim], x.rank - 1
    lanes = x.size // max(n, 1)
    b.require(
        0 < lanes * n * n <= _MOST,
        f"orders {lanes} times {n} numbers, with {lanes * n * n} comparisons; the CPU is better from {_MOST} on",
        "take amax or argmax if one number is enough",
    )
    swapped = [*range(dim), last, *range(dim + 1, last), dim] if dim != last else list(range(x.rank))
    moved = b.TRANSPOSE(b.apply_clamp(x), swapped)
    keys = _keys(b, moved)
    row, column = b.RESHAPE(keys, [lanes, 1, n]), b.RESHAPE(keys, [lanes, n, 1])
    before = b.compare("GREATER", column, row) if descending else b.compare("GREATER", row, column)
    earlier = b.const(torch.ones(1, n, n, dtype=torch.bool).triu(1))
    before = b.binary("LOGICAL_OR", before, b.binary("LOGICAL_AND", b.compare("EQUAL", row, column), earlier))
    counting = torch.int32 if b.spec.support_integer() else torch.float32
    places = b.RESHAPE(b.reduce("REDUCE_SUM", b.cast(before, counting), 1), [lanes, n])
    numbers = b.const(torch.arange(n, dtype=counting).reshape(1, n, 1).repeat(lanes, 1, 1))
    start, stop, _ = part.indices(n)

    def placed(values: Value) -> Value:
        rows = b.slice_axis(b.SCATTER(values, places, values), 1, start, stop - start)
        ordered = b.TRANSPOSE(b.RESHAPE(rows, [*moved.shape[:-1], stop - start]), swapped)
        return ordered if keepdim else b.aten.squeeze(ordered, dim)

    return (
        lambda: placed(b.RESHAPE(moved, [lanes, n, 1])),
        lambda: b.cast(b.in_order(placed(numbers)), torch.int64).replace(bounds=(0, n - 1)),
    )


def _keys(b: OpBuilder, x: Value) -> Value:
    """Numbers that compare in PyTorch's order, NaN after inf. No comparison of NaN itself is true."""
    if x.quant is not None or not x.dtype.is_floating_point:
        return x
    is_number, largest = b.compare("EQUAL", x, x), 2.0**127
    half = b.MUL(x, 0.5) if x.dtype == torch.float32 else b.cast(x, torch.float32)  # room for inf below NaN
    return b.SELECT(is_number, b.clamp(half, -largest, largest), math.inf)


@op("aten.sort.default", "aten.sort.stable", quant=Q.SHARED)
def sort(b: OpBuilder, x: Value, dim: int = -1, descending: bool = False, **_: object) -> Pair:
    return _ordered(b, x, dim, descending)


@op("aten.argsort.default", "aten.argsort.stable", quant=Q.SHARED)
def argsort(b: OpBuilder, x: Value, dim: int = -1, descending: bool = False, **_: object) -> Value:
    return _ordered(b, x, dim, descending)[1]()


@op("aten.topk.default", quant=Q.SHARED)
def topk(b: OpBuilder, x: Value, k: int, dim: int = -1, largest: bool = True, _: bool = True) -> Pair:
    return _ordered(b, x, dim, largest, slice(k))


@op("aten.kthvalue.default", quant=Q.SHARED)
def kthvalue(b: OpBuilder, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Pair:
    return _ordered(b, x, dim, False, slice(k - 1, k), keepdim)


@op("aten.median.dim", quant=Q.SHARED)
def median_dim(b: OpBuilder, x: Value, dim: int, keepdim: bool = False) -> Pair:
    """The lower one of two in the middle; NaN, which is the last, where there is one."""
    middle = (x.shape[dim] + 1) // 2 if x.rank else 1
    if not x.rank or x.quant is not None or not x.dtype.is_floating_point:
        return kthvalue(b, x, middle, dim, keepdim)
    values, indices = _ordered(b, x, dim, False, slice(middle - 1, None))
    dim = x.axis(dim)

    def ends(v: Value) -> list[Value]:
        return [b.slice_axis(v, dim, at, 1) for at in (0, v.shape[dim] - 1)]

    one, last = ends(values())
    is_number = b.compare("EQUAL", last, last)

    def chosen(one: Value, last: Value) -> Value:
        median = b.SELECT(is_number, one, last)
        return median if keepdim else b.aten.squeeze(median, dim)

    return lambda: chosen(one, last), lambda: chosen(*ends(indices()))


@op("aten.median.default", quant=Q.SHARED)
def median(b: OpBuilder, x: Value) -> Value:
    return median_dim(b, b.RESHAPE(x, [math.prod(x.shape)]), 0)[0]()
