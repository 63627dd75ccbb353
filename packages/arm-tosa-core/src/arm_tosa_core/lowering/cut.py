"""Cuts a part out of a TOSA graph: a graph of its own, its constants made and shared with nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor, Uses


class NotApartError(Exception):
    """Operators read what others make."""


def cut(ops: Iterable[Op], inputs: Mapping[Tensor, Tensor], outputs: Sequence[Tensor], name: str = "main") -> Graph:
    """A graph of operators that are moved out of another, which must not be used any more.

    Args:
        ops: in data-flow order.
        inputs: by the tensors that the operators read, the graph inputs that take their place.
        outputs: tensors that the operators make, that they read, or constants.

    Raises:
        NotApartError: an operator reads a tensor that none of them makes; nothing has been moved.
    """
    ops = list(ops)
    made = dict(inputs)
    made.update((tensor, tensor) for op in ops for tensor in op.outputs)
    if any(not (t in made or t.is_constant) for t in (*(t for op in ops for t in op.inputs), *outputs)):
        raise NotApartError
    graph = Graph(name)
    graph.inputs = list(inputs.values())

    def own(tensor: Tensor) -> Tensor:
        if tensor not in made:
            assert tensor.data is not None
            made[tensor] = graph.constant(tensor.data, tensor.dtype)
        return made[tensor]

    for tensor in made.values():
        tensor.uses = Uses()
    for op in ops:
        op.inputs = [own(tensor) for tensor in op.inputs]
        for tensor in op.inputs:
            tensor.uses.add(op)
        for key, value in op.attrs.items():
            if isinstance(value, Graph):
                op.attrs[key] = cut(value.ops, {t: t for t in value.inputs}, value.outputs, value.name)
        graph.ops.append(op)
    graph.outputs = [own(tensor) for tensor in outputs]
    return graph
