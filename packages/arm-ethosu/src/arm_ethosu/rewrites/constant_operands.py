"""Constants that an elementwise operator reads again and again go to the on-chip memory first."""

from __future__ import annotations

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.walks import through

from .max_pool_copies import is_poolable, through_pool

_ELEMENTWISE = ("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM")


#: What may lie between: Vela makes it part of the operator that reads its result.
_BETWEEN = ("RESCALE", "RESHAPE")


def _repeated_constant(graph: Graph, op: Op) -> bool:
    """A constant with fewer elements than the result is copied by a pool, once for all its readers.

    Vela leaves constants in flash, where an elementwise operator of Ethos-U55 spends up to 8 cycles on each element
    of its result. One number is no feature map, but a register.
    """
    for tensor in op.inputs[:2]:
        constant = through(tensor, _BETWEEN)
        if constant.data is None or not is_poolable(constant) or not 1 < constant.size < op.output.size:
            continue
        readers = [use for use in constant.uses if use.name in _ELEMENTWISE + _BETWEEN]
        first = min(readers, key=lambda reader: reader.position)
        copy = through_pool(graph, first, constant, op.origin)
        for reader in readers:
            graph.set_input(reader, reader.inputs.index(constant), copy)
        return True
    return False


REPEATED_CONSTANT = Rewrite("repeated_constant", Stage.LEGALIZE, _ELEMENTWISE, _repeated_constant, frozenset(_BETWEEN))
