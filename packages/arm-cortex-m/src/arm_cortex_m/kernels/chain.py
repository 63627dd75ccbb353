"""Operators one behind the other, of which only the last one's result is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor


def numbers(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The numbers of a constant, with 64 bits, in one row."""
    data = tensor.data
    assert data is not None, "it is constant"
    return data.reshape(-1).astype(np.int64)


class Chains:
    """What stands behind an operator in a graph."""

    def __init__(self, graph: Graph) -> None:
        self._outputs = frozenset(graph.outputs)

    def next(self, op: Op, name: str) -> Op | None:
        """The only reader of an operator's result, if it has that name and reads it as its first operand, once."""
        reader = self.only_reader(op.output)
        return reader if reader is not None and reader.name == name and reader.inputs[0] is op.output else None

    def only_reader(self, tensor: Tensor) -> Op | None:
        """The operator that alone reads a tensor, once; None: there are others, or it is a result of the graph."""
        return tensor.uses[0] if self.alone(tensor) else None

    def alone(self, tensor: Tensor) -> bool:
        """Whether one operator reads a tensor, once, and nothing else."""
        return tensor not in self._outputs and len(tensor.uses) == 1

    def readers(self, tensor: Tensor) -> tuple[Op, ...]:
        """The operators that read a tensor; none: it is a result of the graph."""
        return () if tensor in self._outputs else tuple(tensor.uses)
