"""Files for Model Explorer: a TOSA graph in the modules of the model, and what layers cost.

The format is that of ``graph_builder`` and ``node_data_builder`` in github.com/google-ai-edge/model-explorer. Operators
of a ``.tosa`` are called as Arm's ``tosa-adapter-model-explorer`` calls them, ``main/op5``, so that the costs fit its
drawing too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..plugin.target import CompiledLayer
from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.loader import listed_operators, load
from ..tosa.table import OPERATORS

#: What is known of a layer, by the names of its figures.
COSTS = ("cycles", "bytes")
#: From cheap to dear.
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#e8710a"}]


def graph_file(tosa: bytes, label: str) -> dict[str, Any]:
    """The graphs in a ``.tosa``: operators in the modules that their names tell, constants with those who read them.

    Raises:
        UsageError: the flatbuffer cannot be read.
    """
    graph, ids = load(tosa), _ids(tosa)
    return {"label": label, "graphs": [_drawn(each, ids) for each in _all(graph)]}


def cost_files(tosa: bytes, layers: Sequence[CompiledLayer]) -> dict[str, dict[str, Any]]:
    """For each of ``COSTS`` that any layer has, what the operators of a ``.tosa`` cost."""
    ids = _ids(tosa)
    files = {}
    for cost in COSTS:
        sums: Counter[str] = Counter()
        for layer in layers:
            if (node := ids.get(layer.tensor)) is not None:
                sums[node] += getattr(layer, cost)
        if results := {node: {"value": value} for node, value in sums.items() if value}:
            files[cost] = {"main": {"results": results, "gradient": _GRADIENT}}
    return files


def _ids(tosa: bytes) -> dict[str, str]:
    """The nodes of the first region's operators, by their first results."""
    return {row.tensor: f"main/op{number}" for number, row in enumerate(listed_operators(tosa))}


def _all(graph: Graph) -> Iterator[Graph]:
    """The graph and those within its operators."""
    yield graph
    for op in graph.ops:
        for _, inner in _within(op):
            yield from _all(inner)


def _within(op: Op) -> Iterator[tuple[str, Graph]]:
    return ((name, value) for name, value in op.attrs.items() if isinstance(value, Graph))


def _drawn(graph: Graph, ids: dict[str, str]) -> dict[str, Any]:
    inputs = [
        {"id": f"input/{x.name}", "label": x.name, "namespace": "inputs", "outputsMetadata": _results([x])}
        for x in graph.inputs
    ]
    makers = {tensor: (f"input/{tensor.name}", 0) for tensor in graph.inputs}
    nodes: list[dict[str, Any]] = []
    for op in graph.ops:
        node = ids.get(op.outputs[0].name, op.outputs[0].name) if op.outputs else f"{graph.name}/{len(nodes)}"
        makers |= {tensor: (node, number) for number, tensor in enumerate(op.outputs)}
        nodes.append(_node(op, node, makers))
    outputs = [
        {"id": f"output/{number}", "label": y.name, "namespace": "outputs", "incomingEdges": _edges([y], makers)}
        for number, y in enumerate(graph.outputs)
    ]
    return {"id": graph.name, "nodes": [*inputs, *nodes, *outputs]}


def _node(op: Op, node: str, makers: dict[Tensor, tuple[str, int]]) -> dict[str, Any]:
    name = op.outputs[0].name if op.outputs else ""
    attrs = {key: value for key, value in op.attrs.items() if not isinstance(value, Graph)}
    if op.origin is not None and op.origin.source:
        attrs["source"] = op.origin.source
    operands = OPERATORS[op.name].operands
    for position, tensor in enumerate(op.inputs):
        if tensor.is_constant:
            attrs[operands[min(position, len(operands) - 1)].name] = _constant(tensor)
    return {
        "id": node,
        "label": op.name,
        "namespace": name.rpartition("/")[0].replace(".", "/"),
        "subgraphIds": [inner.name for _, inner in _within(op)],
        "attrs": [{"key": key, "value": str(value)} for key, value in attrs.items()],
        "incomingEdges": _edges(op.inputs, makers),
        "outputsMetadata": _results(op.outputs),
    }


def _edges(tensors: Sequence[Tensor], makers: dict[Tensor, tuple[str, int]]) -> list[dict[str, str]]:
    return [
        {"sourceNodeId": node, "sourceNodeOutputId": str(output), "targetNodeInputId": str(position)}
        for position, tensor in enumerate(tensors)
        if tensor in makers
        for node, output in (makers[tensor],)
    ]


def _results(tensors: Sequence[Tensor]) -> list[dict[str, Any]]:
    return [
        {
            "id": str(number),
            "attrs": [
                {"key": "tensor_name", "value": tensor.name},
                {"key": "tensor_shape", "value": f"{tensor.dtype}{list(tensor.shape)}"},
            ],
        }
        for number, tensor in enumerate(tensors)
    ]


def _constant(tensor: Tensor) -> str:
    shown = f"{tensor.dtype}{list(tensor.shape)}"
    if tensor.dtype is DType.SHAPE or tensor.size == 1:
        assert tensor.data is not None
        return f"{tensor.data.reshape(-1).tolist()}" if tensor.dtype is DType.SHAPE else f"{shown} {tensor.data.item()}"
    return shown
