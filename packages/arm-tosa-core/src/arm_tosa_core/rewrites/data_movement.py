"""Data movement that follows data movement of the same kind becomes one."""

from __future__ import annotations

from ..tosa.graph import Graph
from ..tosa.ir import Op
from ..tosa.rewrite import Rewrite, Stage


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


def _equal(graph: Graph, op: Op) -> bool:
    """RESHAPE or TRANSPOSE that the same tensor has been given before: devices copy what is read in two views."""
    same = [use for use in op.inputs[0].uses if (use.name, use.attrs) == (op.name, op.attrs)]
    first = min((use for use in same if use.output.shape == op.output.shape), key=graph.ops.index)
    if first is op or op.output in graph.outputs:
        return False
    graph.replace(op.output, first.output)
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


def _repeated(graph: Graph, op: Op) -> bool:
    """TRANSPOSE of a TILE becomes TILE of a TRANSPOSE, which moves less; also through a RESHAPE of what it leaves."""
    shaped = op.inputs[0].producer
    perms: tuple[int, ...] = op.attrs["perms"]
    if shaped is not None and shaped.name == "RESHAPE":
        x, y = shaped.inputs[0], shaped.output
        kept = next((axis for axis, perm in enumerate(perms) if axis != perm), 0)  # from here on axes are moved
        moved = y.rank - kept
        if x.shape[-moved:] != y.shape[kept:] or len(y.uses) > 1 or y in graph.outputs:
            return False
        perms = (*range(x.rank - moved), *(perm - y.rank + x.rank for perm in perms[kept:]))
        tile = x.producer
    else:
        tile, shaped = shaped, None
    if tile is None or tile.name != "TILE" or len(tile.output.uses) > 1 or tile.output in graph.outputs:
        return False
    repeats = tile.inputs[1].data
    if repeats is None:
        return False
    at = graph.ops.index(op)
    first = graph.insert(at, "TRANSPOSE", tile.inputs[:1], {"perms": perms}, op.origin)
    again = graph.shape([int(repeats[perm]) for perm in perms])
    made = graph.insert(at + 1, "TILE", [first.output, again], {}, tile.origin)
    if shaped is not None:
        made = graph.insert(at + 2, "RESHAPE", [made.output, graph.shape(op.output.shape)], {}, shaped.origin)
    graph.replace(op.output, made.output)
    return True


EQUAL_VIEWS = Rewrite("equal_views", Stage.OPTIMIZE, ("RESHAPE", "TRANSPOSE"), _equal)
MERGE_RESHAPES = Rewrite("merge_reshapes", Stage.OPTIMIZE, ("RESHAPE",), _reshapes)
MERGE_SLICES = Rewrite("merge_slices", Stage.OPTIMIZE, ("SLICE",), _slices)
MERGE_TRANSPOSES = Rewrite("merge_transposes", Stage.OPTIMIZE, ("TRANSPOSE",), _transposes)
TRANSPOSE_AS_RESHAPE = Rewrite("transpose_as_reshape", Stage.OPTIMIZE, ("TRANSPOSE",), _unmoved)
TRANSPOSE_BEFORE_TILE = Rewrite("transpose_before_tile", Stage.OPTIMIZE, ("TRANSPOSE",), _repeated)
