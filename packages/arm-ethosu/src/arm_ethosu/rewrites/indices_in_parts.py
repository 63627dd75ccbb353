"""GATHER and SCATTER with more indices than the register for their count holds."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..limits import MAX_INDICES
from .inserter import Inserter


def _few(match: Match) -> str | None:
    return "the register holds their count" if match.op.inputs[1].shape[1] <= MAX_INDICES else None


def _in_parts(match: Match) -> Tensor:
    """A GATHER or SCATTER with more than 65535 indices becomes several, one for each part of them.

    Vela writes the lower 16 bits of their count.
    """
    op, graph = match.op, match.graph
    values, indices, *updates = op.inputs
    insert = Inserter(graph, op)

    def part(tensor: Tensor, first: int) -> Tensor:
        size = min(MAX_INDICES, tensor.shape[1] - first)
        if tensor.data is not None:
            return graph.constant(tensor.data[:, first : first + size], tensor.dtype)
        return insert.slice(tensor, 1, first, size)

    starts = range(0, indices.shape[1], MAX_INDICES)
    if op.name == "GATHER":
        return insert.join([insert.like(op, values, part(indices, first)) for first in starts], axis=1)
    for first in starts:
        values = insert.like(op, values, part(indices, first), part(updates[0], first))
    return values


INDICES_IN_PARTS = pattern_rewrite("indices_in_parts", Stage.LEGALIZE, Pattern("GATHER|SCATTER"), _in_parts, _few)
