"""A maximum along an axis as pools: Vela's REDUCE_MAX takes channels one by one, and loses its place before others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Stage

from ..accelerators import MAX_AXIS

_LARGEST_KERNEL = 256  # of a pool, along either axis
_BRICK = 16  # channels that are computed together
#: Elements that could be read or written while a pool begins and ends: one of 6 or 10 is faster than two.
_BEGIN = 256


class _Kernel(NamedTuple):
    height: int
    width: int


def _kernel(size: int) -> _Kernel | None:
    """Of a pool over so many elements, which lie one after the other."""
    for height in range(1, _LARGEST_KERNEL + 1):
        if size % height == 0 and size // height <= _LARGEST_KERNEL:
            return _Kernel(height, size // height)
    return None


def _bricks(channels: int) -> int:
    """Channels, with those that are computed along with them."""
    return -(-channels // _BRICK) * _BRICK


class _Plan(NamedTuple):
    """How the maximum of a row is taken: of so many groups of neighbours, each time; what is left is transposed."""

    cost: float  # elements that are read and written for each row, those of bricks included
    groups: tuple[int, ...]
    left: int


def _pooled(rows: int, size: int, end: Callable[[int], float | None]) -> _Plan:
    """The cheapest pools of rows, until ``end`` has a cost for what is left of each."""
    done = end(size)
    plans = [_Plan(done, (), size)] if done is not None else []
    for groups in range(2, min(size, _LARGEST_KERNEL) + 1):
        if size % groups == 0:
            rest = _pooled(rows, size // groups, end)
            cost = (groups + 1) * _bricks(size // groups) + _BEGIN / rows + rest.cost
            plans.append(_Plan(cost, (groups, *rest.groups), rest.left))
    return min(plans, default=_Plan(math.inf, (), size))


def _plan(rows: int, size: int) -> _Plan:
    """Pools alone where they are as cheap, else pools and a TRANSPOSE of the rest, which costs a copy."""
    alone = _pooled(rows, size, lambda left: 0 if left == 1 else None)
    copied = _pooled(rows, size, lambda left: left + left * _bricks(rows) / rows if _kernel(left) else None)
    return alone if alone.cost <= copied.cost else copied


def is_pool(outer: int, size: int, inner: int) -> bool:
    """Whether a maximum along the middle one of three axes can be a pool."""
    kernel = _kernel(size)
    if size == 1 or kernel is None or max(size, outer) > MAX_AXIS:
        return False
    return inner == 1 or outer == 1 or kernel.height == 1


def becomes_pool(op: Op) -> bool:
    """Whether ``maximum_as_pool`` takes the operator."""
    x = op.inputs[0]
    if op.name != "REDUCE_MAX" or x.dtype not in (DType.INT8, DType.INT16):
        return False
    axis = op.attrs["axis"]
    return is_pool(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))


class _Chain:
    """Operators inserted one after the other, each on the result of the one before."""

    def __init__(self, graph: Graph, op: Op) -> None:
        self.insert, self.tensor = Inserter(graph, op), op.inputs[0]

    def reshape(self, *shape: int) -> None:
        self.tensor = self.insert.reshape(self.tensor, *shape)

    def transpose(self, *perms: int) -> None:
        self.tensor = self.insert("TRANSPOSE", self.tensor, perms=perms)

    def pool(self, rows: int, kernel: _Kernel, channels: int) -> None:
        """The maximum of each so many rows of channels."""
        if kernel.height == 1:  # the windows of all rows lie one above the other
            self.reshape(1, rows, kernel.width, channels)
        else:
            self.reshape(rows, *kernel, channels)
        window = (1, kernel.width) if kernel.height == 1 else tuple(kernel)
        self.tensor = self.insert("MAX_POOL2D", self.tensor, kernel=window, stride=(1, 1), pad=(0, 0, 0, 0))


def no_pool(match: Match) -> str | None:
    """Why no pool takes the place of a REDUCE_MAX."""
    return None if becomes_pool(match.op) else "a pool does not take it"


def maximum_as_pool(match: Match) -> Tensor:
    """A maximum along an axis becomes a pool over it.

    Where it is the last axis, the channels, these first go where a pool's rows are: by views in which neighbours are
    rows, one after the other, or by a TRANSPOSE of what these leave.
    """
    op = match.op
    chain, x, axis = _Chain(match.graph, op), op.inputs[0], op.attrs["axis"]
    size, outer, inner = x.shape[axis], math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    if inner == 1:
        plan = _plan(outer, size)
        for groups in plan.groups:
            size //= groups
            chain.pool(outer, _Kernel(1, groups), size)
        if size > 1:
            if chain.tensor.shape[-2:] != (outer, size):  # else Vela copies what is also read in its own shape
                chain.reshape(1, 1, outer, size)
            *others, rows, row = range(chain.tensor.rank)
            chain.transpose(*others, row, rows)
        outer, inner = 1, outer
    if size > 1:
        kernel = _kernel(size)
        assert kernel is not None
        chain.pool(outer, kernel, inner)
    chain.reshape(*op.output.shape)
    return chain.tensor


MAXIMUM_AS_POOL = pattern_rewrite("maximum_as_pool", Stage.LEGALIZE, Pattern("REDUCE_MAX"), maximum_as_pool, no_pool)
