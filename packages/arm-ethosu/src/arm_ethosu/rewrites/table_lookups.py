"""TABLE where Vela looks up something else."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from .max_pool_copies import copied

_CHAINED = ("RESCALE", "RESHAPE", "MUL", "ADD", "SUB", "MAXIMUM", "MINIMUM", "CLAMP")


def _no_other_table(match: Match) -> str | None:
    waiting, seen = [x := match.op.inputs[0]], {x}
    while waiting:
        producer = waiting.pop().producer
        if producer is not None and producer.name == "TABLE":
            return None
        if producer is not None and producer.name in _CHAINED:
            new = [tensor for tensor in producer.inputs if tensor not in seen]
            waiting += new
            seen.update(new)
    return "there is no other table"


def _of_other_type(match: Match) -> str | None:
    return None if match.op.inputs[0].dtype is match.op.output.dtype else "its result has another type"


def _activation_first(match: Match) -> Tensor:
    """A TABLE or CLAMP of what was moved becomes a move of a TABLE or CLAMP, perhaps with a RESHAPE between.

    Vela fuses the former, forgets that the result is moved, and lets what reads it begin too early, or puts it at the
    wrong place of a larger tensor. On the smallest Ethos-U55 it puts the table behind the end of the on-chip memory.
    """
    insert, mover = match.insert, match["mover"]
    result = insert.like(mover, insert.like(match.op, mover.inputs[0], *match.op.inputs[1:]))
    for shape in reversed(match.between("mover")):
        result = insert.like(shape, result, *shape.inputs[1:])
    return result


# There is room for one such table; in a chain the second one replaces the first before that was used.
ONE_TABLE = copied(
    "one_table_in_a_chain",
    Pattern("TABLE", {0: Pattern(dtype=DType.INT16)}),
    "An INT16 TABLE on what comes from another one, through operators that Vela chains, goes through a pool.",
    _no_other_table,
    through=_CHAINED,
)
ACTIVATION_FIRST = pattern_rewrite(
    "activation_before_move",
    Stage.LEGALIZE,
    Pattern("TABLE|CLAMP", {0: Pattern("REVERSE|TRANSPOSE", name="mover", through=("RESHAPE",))}),
    _activation_first,
    _of_other_type,
)
