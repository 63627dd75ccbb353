"""Operands that others read in another shape: of these operators Vela takes that shape for its own."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .inserter import Inserter
from .int32_rescales import plus_zero
from .max_pool_copies import is_poolable, through_pool

#: Operators whose result may lie in memory as their operand does, in another shape.
_VIEWS = ("RESHAPE", "TRANSPOSE")


def _copied(graph: Graph, op: Op) -> bool:
    """An operand that others read in another shape is copied, because Vela would read it in that shape."""
    changed = False
    for position, tensor in enumerate(op.inputs):
        if any(use.name in _VIEWS for use in tensor.uses) and not tensor.is_constant:
            graph.set_input(op, position, _copy(graph, op, tensor))
            changed = True
    return changed


def _copy(graph: Graph, before: Op, tensor: Tensor) -> Tensor:
    if is_poolable(tensor):
        return through_pool(graph, before, tensor)
    if tensor.dtype is DType.BOOL:
        insert = Inserter(graph, before)
        return insert("LOGICAL_OR", tensor, tensor)
    return plus_zero(graph, before, tensor)


MINIMUM_OF_COPY = Rewrite("minimum_of_copy", Stage.LEGALIZE, ("REDUCE_MIN",), _copied)
SELECT_OF_COPIES = Rewrite("select_of_copies", Stage.LEGALIZE, ("SELECT",), _copied)
