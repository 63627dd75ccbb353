"""``torch.while_loop`` as WHILE_LOOP, of the extension ``cf``: two graphs within the operator."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

from .errors import Rejected
from .ir import Graph, Tensor
from .values import QParams, Value

if TYPE_CHECKING:
    from .build import Builder
    from .lowering import Lowering

#: The largest integer that stands for a real number which a loop carries.
_STATE = 2**22


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
    states = [_state(lowering, node, body, i) for i in range(len(nodes))]
    values = [_as_state(b, lowering.values[n], quant) for n, quant in zip(nodes, states, strict=True)]
    tensors = [b.tensor(v) for v in values]
    kinds = [v.dtype for v in values]
    graphs = {
        "cond_graph": _graph(lowering, condition, f"{node.name}_condition", tensors, kinds, states, 0),
        "body_graph": _graph(lowering, body, f"{node.name}_body", tensors, kinds, states, len(carried)),
    }
    results = b.emit_all("WHILE_LOOP", tensors, **graphs)
    return tuple(b.value(t, k, quant=q) for t, k, q in zip(results[: len(carried)], kinds, states, strict=False))


def _state(lowering: Lowering, loop: Node, body: GraphModule, index: int) -> QParams | None:
    """Parameters in which the loop carries a tensor as INT32, or None where that is no real number that is quantized.

    They hold the numbers to which it is quantized before, in and after the loop, each with bits to spare: a step reads
    what the one before it wrote, so that errors would add up.
    """
    arguments: Any = loop.args
    given: Value = lowering.values[[*arguments[2], *arguments[3]][index]]
    if lowering.target.tosa_spec.support_float() or not given.dtype.is_floating_point:
        return None
    readers = [body.graph.find_nodes(op="placeholder")[index]]
    readers += [user for user in loop.users if user.target is operator.getitem and user.args[1] == index]
    read = [lowering.quantized_to(node) for node in readers]
    known = [q for q in (given.quant, *read) if q is not None]
    most = max((q.scalar * max(q.qmax - q.zero_point, q.zero_point - q.qmin) for q in known), default=0.0)
    return QParams((most / _STATE,), 0, -_STATE, _STATE) if most else None


def _as_state(b: Builder, value: Value, quant: QParams | None) -> Value:
    return b.apply_clamp(b.real(value)) if quant is None else b.quantize(value, quant, torch.int32)


def _graph(
    lowering: Lowering,
    module: GraphModule,
    name: str,
    tensors: list[Tensor],
    kinds: list[torch.dtype],
    states: list[QParams | None],
    first: int,
) -> Graph:
    """A module as a graph that takes what the loop carries.

    Args:
        first: inputs from here on are given back as they are, if there is more than the condition to give.
    """
    inner = lowering.inside(name)
    placeholders = module.graph.find_nodes(op="placeholder")
    for node, tensor, kind, quant in zip(placeholders, tensors, kinds, states, strict=True):
        given = inner.graph.input(f"{name}_{node.name}", tensor.shape, tensor.dtype)
        inner.values[node] = inner.builder.value(given, kind, quant=quant)
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        try:
            inner.values[node] = inner.lower(node)
        except Rejected as why:
            raise Rejected(f"{node.name} in its graph {why.reason}", why.fix) from why
    results: Any = module.graph.output_node().args[0]
    for node, quant in zip(results if isinstance(results, (tuple, list)) else [results], states, strict=False):
        given_back = _as_state(inner.builder, inner.values[node], quant if first else None)
        inner.graph.outputs.append(inner.builder.tensor(given_back))
    if first:
        inner.graph.outputs += inner.graph.inputs[first:]
    return inner.graph
