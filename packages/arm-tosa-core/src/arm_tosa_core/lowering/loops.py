"""``torch.while_loop`` as WHILE_LOOP, of the extension ``cf``: two graphs within the operator."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

from ..support.errors import Rejected
from ..tosa.graph import Graph
from ..tosa.ir import Tensor
from .quantize_nodes import quantized_as
from .values import QParams, Value

if TYPE_CHECKING:
    from .builder import Builder
    from .node_lowering import NodeLowering

#: The largest integer that stands for a real number which a loop carries.
_STATE = 2**22


def lower_loop(lowering: NodeLowering, node: Node) -> tuple[Value, ...]:
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
    states = _states(lowering, node, body)
    values = [_as_state(b, lowering.values[n], quant) for n, quant in zip(nodes, states, strict=True)]
    tensors = [b.tensor(v) for v in values]
    kinds = [v.dtype for v in values]
    graphs = {
        "cond_graph": _graph(lowering, condition, f"{node.name}_condition", tensors, kinds, states, 0),
        "body_graph": _graph(lowering, body, f"{node.name}_body", tensors, kinds, states, len(carried)),
    }
    results = b.emit_all("WHILE_LOOP", tensors, **graphs)
    return tuple(b.value(t, k, quant=q) for t, k, q in zip(results[: len(carried)], kinds, states, strict=False))


def _states(lowering: NodeLowering, loop: Node, body: GraphModule) -> list[QParams | None]:
    """Parameters in which the loop carries each tensor as INT32, or None where it is no quantized real.

    They hold the numbers to which it is quantized before, in and after the loop, each with bits to spare: a step reads
    what the one before it wrote, so that errors would add up.
    """
    arguments: Any = loop.args
    given: list[Value] = [lowering.values[n] for n in (*arguments[2], *arguments[3])]
    if lowering.target.tosa_spec.support_float():
        return [None] * len(given)
    placeholders, made = body.graph.find_nodes(op="placeholder"), _results(body)
    reaches = []
    for index, value in enumerate(given):
        nodes = [placeholders[index], *made[index : index + 1]]
        nodes += [user for user in loop.users if user.target is operator.getitem and user.args[1] == index]
        quants = [value.quant, *(quantized_as(node, lowering.constants) for node in nodes)]
        reaches.append(max((_reach(q) for q in quants if q is not None), default=0.0))
    for _ in made:  # what a step hands from one place to another
        for index, node in enumerate(made):
            if node in placeholders:
                reaches[index] = max(reaches[index], reaches[placeholders.index(node)])
    return [
        QParams((reach / _STATE,), 0, -_STATE, _STATE) if reach and value.dtype.is_floating_point else None
        for value, reach in zip(given, reaches, strict=True)
    ]


def _reach(quant: QParams) -> float:
    return quant.scalar * max(quant.qmax - quant.zero_point, quant.zero_point - quant.qmin)


def _results(module: GraphModule) -> list[Node]:
    results: Any = module.graph.output_node().args[0]
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _as_state(b: Builder, value: Value, quant: QParams | None) -> Value:
    return b.apply_clamp(b.real(value)) if quant is None else b.quantize(value, quant, torch.int32)


def _graph(
    lowering: NodeLowering,
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
            inner.lower(node)
        except Rejected as why:
            raise Rejected(f"{node.name} in its graph {why.reason}", why.fix) from why
    for node, quant in zip(_results(module), states, strict=False):
        given_back = _as_state(inner.builder, inner.values[node], quant if first else None)
        inner.graph.outputs.append(inner.builder.tensor(given_back))
    if first:
        inner.graph.outputs += inner.graph.inputs[first:]
    return inner.graph
