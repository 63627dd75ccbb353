"""Operands that others read in another shape: of these operators Vela takes that shape for its own."""

from __future__ import annotations

from arm_tosa_core.tosa.operator_classes import VIEWS
from arm_tosa_core.tosa.pattern import ANY, Match, Pattern
from arm_tosa_core.tosa.rewrite import Rewrite

from .int32_rescales import copy_of
from .max_pool_copies import copied


def _in_own_shape(match: Match) -> str | None:
    x = match.tensor("operand")
    return None if any(use.name in VIEWS for use in x.uses) and not x.is_constant else "it is read in its own shape"


def _of_copies(name: str, op: str) -> Rewrite:
    reason = "An operand that others read in another shape is copied, because Vela would read it in that shape."
    pattern = Pattern(op, {ANY: Pattern(name="operand")})
    return copied(name, pattern, reason, _in_own_shape, operand="operand", copy=copy_of)


MINIMUM_OF_COPY = _of_copies("minimum_of_copy", "REDUCE_MIN")
SELECT_OF_COPIES = _of_copies("select_of_copies", "SELECT")
