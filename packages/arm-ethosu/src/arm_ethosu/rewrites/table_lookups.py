"""TABLE where Vela looks up something else."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter
from .max_pool_copies import through_pool

_CHAINED = ("RESCALE", "RESHAPE", "MUL", "ADD", "SUB", "MAXIMUM", "MINIMUM", "CLAMP")
_MOVED = ("REVERSE", "TRANSPOSE")


def _one_table_in_a_chain(graph: Graph, op: Op) -> bool:
    """An INT16 TABLE on what comes from another one, through operators that Vela chains, goes through a pool.

    There is room for one such table; in a chain the second one replaces the first before that was used.
    """
    x = op.inputs[0]
    if x.dtype is not DType.INT16:
        return False
    waiting, seen = [x], {x}
    while waiting:
        producer = waiting.pop().producer
        if producer is None:
            continue
        if producer.name == "TABLE":
            graph.set_input(op, 0, through_pool(graph, op, x))
            return True
        if producer.name in _CHAINED:
            new = [tensor for tensor in producer.inputs if tensor not in seen]
            waiting += new
            seen.update(new)
    return False


def _activation_first(graph: Graph, op: Op) -> bool:
    """A TABLE or CLAMP of what was moved becomes a move of a TABLE or CLAMP, perhaps with a RESHAPE between.

    Vela fuses the former, forgets that the result is moved, and lets what reads it begin too early, or puts it at the
    wrong place of a larger tensor. On the smallest Ethos-U55 it puts the table behind the end of the on-chip memory.
    """
    shapes: list[Op] = []
    mover = op.inputs[0].producer
    while mover is not None and mover.name == "RESHAPE":
        shapes.append(mover)
        mover = mover.inputs[0].producer
    if mover is None or mover.name not in _MOVED or op.inputs[0].dtype is not op.output.dtype:
        return False
    insert = Inserter(graph, op)
    made = insert.like(mover, insert.like(op, mover.inputs[0], *op.inputs[1:]))
    for shape in reversed(shapes):
        made = insert.like(shape, made, *shape.inputs[1:])
    graph.replace(op.output, made)
    return True


ONE_TABLE = Rewrite("one_table_in_a_chain", Stage.LEGALIZE, ("TABLE",), _one_table_in_a_chain, frozenset(_CHAINED))
ACTIVATION_FIRST = Rewrite(
    "activation_before_move", Stage.LEGALIZE, ("TABLE", "CLAMP"), _activation_first, frozenset(("RESHAPE",))
)
