"""Steps through a graph, from a tensor to its maker or its readers."""

from __future__ import annotations

from collections.abc import Collection

from .graph import Graph
from .ir import Op, Tensor


def made_by(tensor: Tensor, *names: str) -> bool:
    """Whether an operator of these names makes a tensor."""
    return tensor.producer is not None and tensor.producer.name in names


def through(tensor: Tensor, names: Collection[str], alone: bool = False) -> Tensor:
    """The tensor before a row of operators of these names, each of which makes the first operand of the next one.

    Args:
        alone: stops at a tensor with several readers.
    """
    while (op := tensor.producer) is not None and op.name in names and not (alone and len(tensor.uses) > 1):
        tensor = op.inputs[0]
    return tensor


def is_alone(graph: Graph, tensor: Tensor) -> bool:
    """Whether one operand reads a tensor, and it is no output of the graph."""
    return len(tensor.uses) == 1 and tensor not in graph.outputs


def only_reader(graph: Graph, op: Op) -> Op | None:
    """The operator that alone reads the one result of another; None: there are several, or an output of the graph."""
    return op.output.uses[0] if len(op.outputs) == 1 and is_alone(graph, op.output) else None
