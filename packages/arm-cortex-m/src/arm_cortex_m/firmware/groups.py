"""Operators that hand on to one another, as one function: of one number at a time, in one loop; of rows, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op

from .kernels.elementwise import ELEMENTWISE, together
from .kernels.kernel import Kernel
from .kernels.rows import Passes, in_rows, reduces, rows

#: Operators of a loop at most: more are too many variables, and hide that steps come again. Those of rows at most.
_MOST, _MOST_OF_ROWS = 32, 96
_Parts = tuple[Op, ...]


def groups_of(graph: Graph, ops: Sequence[Op]) -> dict[Op, tuple[_Parts, Op, Kernel]]:
    """By its last operator, each group of at least two of these operators: in their order, as one, and its kernel.

    All of a group but the last are read by the group alone.

    Args:
        ops: those that no other function computes, in order.
    """
    places = {op: place for place, op in enumerate(ops)}
    given = {tensor.producer for tensor in graph.outputs}
    out: dict[Op, tuple[_Parts, Op, Kernel]] = {}

    def found(of: Callable[[Op, Mapping[Op, int]], tuple[_Parts, Op, Kernel] | None]) -> None:
        for last in reversed(ops):
            free = {op: place for op, place in places.items() if op is last or op not in given}
            group = of(last, free) if last in places and last.name in ELEMENTWISE else None
            if group is not None:
                out[last] = group
                for op in group[0]:
                    del places[op]

    found(_of_rows)
    found(_of_numbers)
    return out


def _of_numbers(last: Op, free: Mapping[Op, int]) -> tuple[_Parts, Op, Kernel] | None:
    """Those of one loop, all with the last one's shape."""
    shape = last.output.shape
    group = _grown(last, free, lambda op: op.name in ELEMENTWISE and op.output.shape == shape, _MOST)
    return (group, *together(group)) if len(group) > 1 else None


def _of_rows(last: Op, free: Mapping[Op, int]) -> tuple[_Parts, Op, Kernel] | None:
    """Those of rows: with a reduction, and with one row at most that has to be kept, for which the result's does."""
    shape = last.output.shape
    apart: set[Op] = set()
    while True:
        group = _grown(last, free, lambda op: op not in apart and in_rows(op, shape), _MOST_OF_ROWS) if shape else ()
        if not any(map(reduces, group)):
            return None
        passes = Passes(group)
        left = passes.left
        fits = [op for op in left if op.output.dtype is last.output.dtype]
        if left == fits[-1:]:
            return group, *rows(passes)
        apart.add(next(op for op in left if op not in fits[-1:]))


def _grown(last: Op, free: Mapping[Op, int], fits: Callable[[Op], bool], most: int) -> _Parts:
    """The operators behind which ``last`` is, in order, of which only the group reads the results."""
    group, pending = {last}, [last]
    while pending:
        for tensor in pending.pop().inputs:
            op = tensor.producer
            if op is None or op not in free or op in group or len(group) == most:
                continue
            if fits(op) and group.issuperset(tensor.uses):
                group.add(op)
                pending.append(op)
    return tuple(sorted(group, key=free.__getitem__))
