"""Operators of one number at a time that hand on to one another: one loop computes them, with variables between."""

from __future__ import annotations

from collections.abc import Sequence

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op

from .kernels.elementwise import ELEMENTWISE

#: Operators of a group at most: more are too many variables, and hide that steps come again.
_MOST = 32


def groups_of(graph: Graph, ops: Sequence[Op]) -> dict[Op, tuple[Op, ...]]:
    """By its last operator, each group of at least two of these operators, in their order.

    All of a group but the last are read by the group alone, and have the last one's shape.

    Args:
        ops: those that no other function computes, in order.
    """
    places = {op: place for place, op in enumerate(op for op in ops if op.name in ELEMENTWISE)}
    given = set(graph.outputs)
    taken: set[Op] = set()
    out: dict[Op, tuple[Op, ...]] = {}
    for last in reversed(places):
        if last in taken:
            continue
        group, pending = {last}, [last]
        while pending:
            for tensor in pending.pop().inputs:
                op, alike = tensor.producer, tensor.shape == last.output.shape and tensor not in given
                if op in places and op not in group and alike and len(group) < _MOST and group.issuperset(tensor.uses):
                    group.add(op)
                    pending.append(op)
        taken |= group
        if len(group) > 1:
            out[last] = tuple(sorted(group, key=places.__getitem__))
    return out
