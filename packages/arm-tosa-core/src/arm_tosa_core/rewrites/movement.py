"""Data movement that follows data movement of the same kind becomes one."""

from __future__ import annotations

from ..ir import Graph, Op
from ..rewrite import Rewrite, Stage


def _reshapes(graph: Graph, op: Op) -> bool:
    """RESHAPE of a RESHAPE, and one that changes nothing."""
    source = op.inputs[0]
    inner = source.producer
    if op.output.shape == source.shape:
        if op.output in graph.outputs:  # an output must be a result of its own
            return False
        graph.replace(op.output, source)
        return True
    if inner is None or inner.name != "RESHAPE":
        return False
    graph.set_input(op, 0, inner.inputs[0])
    return True


def _slices(graph: Graph, op: Op) -> bool:
    """SLICE of a SLICE."""
    inner = op.inputs[0].producer
    if inner is None or inner.name != "SLICE":
        return False
    starts = [o.inputs[1].data for o in (inner, op)]
    if starts[0] is None or starts[1] is None:
        return False
    graph.set_input(op, 1, graph.shape([int(a + b) for a, b in zip(*starts, strict=True)]))
    graph.set_input(op, 0, inner.inputs[0])
    return True


def _transposes(graph: Graph, op: Op) -> bool:
    """TRANSPOSE of a TRANSPOSE."""
    inner = op.inputs[0].producer
    if inner is None or inner.name != "TRANSPOSE":
        return False
    perms = tuple(inner.attrs["perms"][p] for p in op.attrs["perms"])
    if perms == tuple(range(len(perms))):
        if op.output in graph.outputs:
            return False
        graph.replace(op.output, inner.inputs[0])
        return True
    op.attrs["perms"] = perms
    graph.set_input(op, 0, inner.inputs[0])
    return True


def _unmoved(graph: Graph, op: Op) -> bool:
    """TRANSPOSE that moves axes of one element only becomes a RESHAPE."""
    x = op.inputs[0]
    long = [axis for axis in op.attrs["perms"] if x.shape[axis] > 1]
    if long != sorted(long):
        return False
    made = graph.insert(graph.ops.index(op), "RESHAPE", [x, graph.shape(op.output.shape)], {}, op.origin)
    graph.replace(op.output, made.output)
    return True


MERGE_RESHAPES = Rewrite("merge_reshapes", Stage.OPTIMIZE, ("RESHAPE",), _reshapes)
MERGE_SLICES = Rewrite("merge_slices", Stage.OPTIMIZE, ("SLICE",), _slices)
MERGE_TRANSPOSES = Rewrite("merge_transposes", Stage.OPTIMIZE, ("TRANSPOSE",), _transposes)
TRANSPOSE_AS_RESHAPE = Rewrite("transpose_as_reshape", Stage.OPTIMIZE, ("TRANSPOSE",), _unmoved)
