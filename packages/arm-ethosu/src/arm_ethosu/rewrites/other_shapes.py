"""Operands that others read in another shape: of these operators Vela takes that shape for its own."""

from __future__ import annotations

from collections.abc import Mapping

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import VIEWS
from arm_tosa_core.tosa.pattern import ANY, Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter
from .int32_rescales import plus_zero
from .max_pool_copies import is_poolable, through_pool


def _in_own_shape(match: Match) -> str | None:
    x = match.tensor("operand")
    return None if any(use.name in VIEWS for use in x.uses) and not x.is_constant else "it is read in its own shape"


def _copied(match: Match) -> Mapping[int, Tensor]:
    """An operand that others read in another shape is copied, because Vela would read it in that shape."""
    return {match.position("operand"): _copy(match.graph, match.op, match.tensor("operand"))}


def _copy(graph: Graph, before: Op, tensor: Tensor) -> Tensor:
    if is_poolable(tensor):
        return through_pool(graph, before, tensor)
    if tensor.dtype is DType.BOOL:
        insert = Inserter(graph, before)
        return insert("LOGICAL_OR", tensor, tensor)
    return plus_zero(graph, before, tensor)


def _of_copies(name: str, op: str) -> Rewrite:
    pattern = Pattern(op, {ANY: Pattern(name="operand")})
    return pattern_rewrite(name, Stage.LEGALIZE, pattern, _copied, _in_own_shape)


MINIMUM_OF_COPY = _of_copies("minimum_of_copy", "REDUCE_MIN")
SELECT_OF_COPIES = _of_copies("select_of_copies", "SELECT")
