"""``torch.while_loop`` as WHILE_LOOP, of the extension ``cf``: two graphs within the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

from .errors import Rejected
from .ir import Graph, Tensor
from .values import Value

if TYPE_CHECKING:
    from .lowering import Lowering


def lower_loop(lowering: Lowering, node: Node) -> tuple[Value, ...]:
    """What the loop gives; tensors that it only reads go round with those that it changes.

    Raises:
        Rejected: the specification has no loops, or an operator within does not lower.
    """
    b = lowering.builder
    b.require(
        lowering.target.tosa_spec.support_extension("cf"),
        "is control flow that depends on data: while_loop (needs cf in the specification)",
        "export with a fixed number of steps",
    )
    arguments: Any = node.args
    (condition, body), (carried, read) = (lowering.values[a] for a in arguments[:2]), arguments[2:]
    nodes = [*carried, *read]
    b.require(all(isinstance(n, Node) for n in nodes), "carries numbers round a loop", "make them tensors")
    tensors = [b.tensor(b.apply_clamp(b.real(lowering.values[n]))) for n in nodes]
    kinds = [lowering.values[n].dtype for n in nodes]
    graphs = {
        "cond_graph": _graph(lowering, condition, f"{node.name}_condition", tensors, kinds, 0),
        "body_graph": _graph(lowering, body, f"{node.name}_body", tensors, kinds, len(carried)),
    }
    results = b.emit_all("WHILE_LOOP", tensors, **graphs)
    return tuple(b.value(t, kind) for t, kind in zip(results[: len(carried)], kinds, strict=False))


def _graph(
    lowering: Lowering, module: GraphModule, name: str, tensors: list[Tensor], kinds: list[torch.dtype], first: int
) -> Graph:
    """A module as a graph that takes what the loop carries.

    Args:
        first: inputs from here on are given back as they are, if there is more than the condition to give.
    """
    inner = lowering.inside(name)
    placeholders = module.graph.find_nodes(op="placeholder")
    for node, tensor, kind in zip(placeholders, tensors, kinds, strict=True):
        given = inner.graph.input(f"{name}_{node.name}", tensor.shape, tensor.dtype)
        inner.values[node] = inner.builder.value(given, kind)
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        try:
            inner.values[node] = inner.lower(node)
        except Rejected as why:
            raise Rejected(f"{node.name} in its graph {why.reason}", why.fix) from why
    results: Any = module.graph.output_node().args[0]
    for node in results if isinstance(results, (tuple, list)) else [results]:
        value = inner.values[node]
        inner.graph.outputs.append(inner.builder.tensor(inner.builder.apply_clamp(inner.builder.real(value))))
    if first:
        inner.graph.outputs += inner.graph.inputs[first:]
    return inner.graph
