"""Outputs of a graph that Vela would leave out."""

from __future__ import annotations

from functools import partial

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.operator_classes import VIEWS
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .int32_rescales import copy_of

_THROUGH = frozenset(("CAST", "RESCALE", "RESHAPE"))
#: Operators that Vela transposes what they read for.
_TRANSPOSING = ("ARGMAX", "MATMUL", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "TRANSPOSE")


def _kept_output(graph: Graph, op: Op) -> bool:
    """An output that was moved goes through a pool before Vela moves it once more, alone for one reader."""
    lost = [x for x in map(partial(_lost, graph), op.inputs[: 2 if op.name == "MATMUL" else 1]) if x is not None]
    for x in lost:
        reader = x.uses[0]
        graph.set_input(reader, reader.inputs.index(x), copy_of(graph, reader, x))
    return bool(lost)


def _lost(graph: Graph, x: Tensor) -> Tensor | None:
    """The output that ``x`` is made of, if Vela makes its move one with what ``x`` is read for."""
    while x.producer is not None and len(x.uses) == 1:
        if x in graph.outputs:
            return x if x.producer.name in VIEWS else None
        if x.producer.name not in _THROUGH:
            return None
        x = x.producer.inputs[0]
    return None


KEPT_OUTPUT = Rewrite("kept_output", Stage.LEGALIZE, _TRANSPOSING, _kept_output, _THROUGH)
