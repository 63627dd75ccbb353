"""TABLE where Vela looks up something else, or rescales twice before it."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.scaling import is_by_one

from .max_pool_copies import POOLABLE, copied

#: From one entry of an INT16 table to the next, in bits.
_STEP = 7
_CHAINED = ("RESCALE", "RESHAPE", "MUL", "ADD", "SUB", "MAXIMUM", "MINIMUM", "CLAMP")


def _no_other_table(match: Match) -> str | None:
    """There is room for several tables of 8 bits, and for one of 16."""
    wide = match.op.inputs[0].dtype is DType.INT16
    waiting, seen = [x := match.op.inputs[0]], {x}
    while waiting:
        producer = waiting.pop().producer
        if producer is not None and producer.name == "TABLE" and (wide or producer.inputs[0].dtype is DType.INT16):
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


def _between_entries(match: Match) -> str | None:
    wide, narrow, table = match["wide"], match["narrow"], match.op.inputs[1]
    multiplier, shift, zero_in, zero_out = (x.data for x in wide.inputs[1:])
    zero = narrow.inputs[4].data
    if table.data is None or multiplier is None or shift is None or zero_in is None or zero_out is None or zero is None:
        return "it is not known before the program runs"
    if wide.attrs["per_channel"] or int(multiplier[0]) != 1 << int(shift[0]) + _STEP:
        return "there are integers between those of the entries"
    if any(rescale.attrs[f"{end}_unsigned"] for rescale in (wide, narrow) for end in ("input", "output")):
        return "there are unsigned integers"
    return None if int(zero_in[0]) == int(zero[0]) and not zero_out.any() else "there are other zero points"


def _one_rescale(match: Match) -> Tensor:
    """Of two RESCALEs, from INT32 to INT8 and by an entry of the table for each, one is made.

    What saturated is an entry that is repeated to the end of the table.
    """
    narrow, table, insert = match["narrow"], match.op.inputs[1].data, match.insert
    zero = narrow.inputs[4].data
    assert table is not None and zero is not None
    integers = np.arange(table.size) - table.size // 2
    low, high = (end - int(zero[0]) for end in (-128, 127))
    entries = table[np.clip(integers, low, high) + table.size // 2]
    wide = insert.rescale(narrow.inputs[0], DType.INT16, (1 << 30, 30 - _STEP))
    return insert.like(match.op, wide, match.graph.constant(entries, DType.INT16))


_NARROWED = Pattern("RESCALE", {0: Pattern(dtype=DType.INT32)}, "narrow", dtype=DType.INT8, where=is_by_one, alone=True)
_OF_NARROWED = Pattern("TABLE", {0: Pattern("RESCALE", {0: _NARROWED}, "wide", dtype=DType.INT16)})

RESCALED_ONCE = pattern_rewrite("rescaled_to_entries", Stage.LEGALIZE, _OF_NARROWED, _one_rescale, _between_entries)
# In a chain the second table overwrites the first before the first has been used.
ONE_TABLE = copied(
    "one_table_in_a_chain",
    Pattern("TABLE", {0: Pattern(dtype=POOLABLE)}),
    "A TABLE of what another TABLE gave, through operators that Vela chains, reads a pool of it if one is INT16.",
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
