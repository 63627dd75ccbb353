"""TABLE where Vela looks up something else."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .max_pool_copies import through_pool

_CHAINED = ("RESCALE", "RESHAPE", "MUL", "ADD", "SUB", "MAXIMUM", "MINIMUM", "CLAMP")


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


def _other_type(match: Match) -> str | None:
    return None if match.op.inputs[0].dtype is match.op.output.dtype else "it makes another type"


def _activation_first(match: Match) -> Tensor:
    """A TABLE or CLAMP of what was moved becomes a move of a TABLE or CLAMP.

    Vela fuses the former, forgets that the result is moved, and lets what reads it begin too early, or puts it at the
    wrong place of a larger tensor. On the smallest Ethos-U55 it puts the table behind the end of the on-chip memory.
    """
    op, mover = match.op, match["mover"]
    return match.insert.like(mover, match.insert.like(op, mover.inputs[0], *op.inputs[1:]))


ONE_TABLE = Rewrite("one_table_in_a_chain", Stage.LEGALIZE, ("TABLE",), _one_table_in_a_chain, frozenset(_CHAINED))
ACTIVATION_FIRST = pattern_rewrite(
    "activation_before_move",
    Stage.LEGALIZE,
    Pattern("TABLE|CLAMP", {0: Pattern("REVERSE|TRANSPOSE", name="mover")}),
    _activation_first,
    _other_type,
)
