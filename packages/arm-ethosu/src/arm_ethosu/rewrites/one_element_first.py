"""An operand of one element before one of five axes or more, which Vela does not repeat for Ethos-U55 and U65."""

from __future__ import annotations

from math import prod

from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..operator_classes import TWO_OPERANDS

_AXES = 4
#: Operators of two operands, either of which may be repeated along axes.
REPEATING = (*TWO_OPERANDS, "LOGICAL_RIGHT_SHIFT", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR")


def _repeated(match: Match) -> str | None:
    one, many = match.op.inputs[:2]
    return None if one.size == 1 < many.size and many.rank > _AXES else "Vela repeats its first operand"


def _on_four_axes(match: Match) -> Tensor:
    """One element before a tensor of five axes or more is repeated along four, of which the first is several."""
    op, insert = match.op, match.insert
    one, many, *rest = op.inputs
    first = prod(many.shape[: 1 - _AXES])
    four = insert.reshape(many, first, *many.shape[1 - _AXES :])
    return insert.reshape(insert.like(op, insert.reshape(one, *(1,) * _AXES), four, *rest), *op.output.shape)


ONE_ELEMENT_FIRST = pattern_rewrite(
    "one_element_first", Stage.LEGALIZE, Pattern("|".join(REPEATING)), _on_four_axes, _repeated
)
