"""The program with a call of a delegate in place of each region: what is left for ExecuTorch."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from executorch.exir.delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputSpec
from torch.fx import Graph, GraphModule, Node

from ..compat.torch import program_like
from ..lowering.analysis_result import Analysis
from ..lowering.exported_program import CONSTANT_INPUTS, is_dequantize, is_quantize


@dataclass(frozen=True)
class Call:
    """What becomes of a region: a call of a ``LoweredBackendModule``, with the nodes that it reads and makes."""

    module: Any
    inputs: list[Node]
    outputs: list[Node]


def with_delegates(
    program: ExportedProgram, analysis: Analysis, calls: Sequence[Call], same: Mapping[Node, Node]
) -> ExportedProgram:
    """The program with delegates called; constants that the delegates contain, and nobody reads, are left out of it.

    Args:
        program: a functional program; it stays as it is.
        analysis: of this program.
        calls: one for each region that the analysis found and that has something to do.
        same: results of regions that are other nodes, by these.
    """
    signature = program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    consumed = {s.arg.name for s in signature.input_specs if s.kind in CONSTANT_INPUTS and s.target not in mutated}
    earlier = sum(node.target is executorch_call_delegate for node in program.graph.nodes)
    walk = _Walk(calls, same, earlier)
    for node in program.graph.nodes:
        constant = node.op == "get_attr" or node.name in consumed
        if node not in analysis.accepted and not (constant and all(u in analysis.accepted for u in node.users)):
            walk.visit(node)
    walk.settle_placeholders(program.graph)
    specs = [spec for spec in signature.input_specs if spec.arg.name in walk.placeholders]
    targets = {spec.target for spec in specs}
    result: ExportedProgram = program_like(
        program,
        walk.graph,
        ExportGraphSignature(specs, _output_specs(signature, walk.results)),
        root=GraphModule(walk.attributes(program.graph_module), walk.graph),
        state_dict={name: tensor for name, tensor in program.state_dict.items() if name in targets},
        example_inputs=program.example_inputs,
        constants={name: value for name, value in program.constants.items() if name in targets},
    )
    return result


def is_decomposed(program: ExportedProgram) -> bool:
    """Whether a program only calls delegates, quantizes, dequantizes and casts: nothing that has a decomposition."""
    return all(
        node.op != "call_function"
        or node.target in (executorch_call_delegate, operator.getitem, torch.ops.aten._to_copy.default)
        or is_quantize(node)
        or is_dequantize(node)
        for node in program.graph.nodes
    )


def _output_specs(signature: ExportGraphSignature, results: Sequence[Any]) -> list[OutputSpec]:
    """What the outputs are, each by the name of the node that makes it now: a cast may have come last."""
    return [
        replace(spec, arg=replace(spec.arg, name=node.name)) if isinstance(node, Node) else spec
        for spec, node in zip(signature.output_specs, results, strict=True)
    ]


class _Walk:
    """Copies nodes to a new graph, each after what it needs; a region becomes one call, made when first needed.

    Args:
        same: nodes, and those that they are the same as.
        earlier: delegates that the program calls already.
    """

    def __init__(self, calls: Sequence[Call], same: Mapping[Node, Node], earlier: int) -> None:
        self.graph = Graph()
        self.calls = calls
        self.same = same
        self._names = [f"arm_delegate_{earlier + i}" for i in range(len(calls))]
        self._makers = {node: i for i, call in enumerate(calls) for node in call.outputs}
        self._new: dict[Node, Node] = {}
        self._attributes: set[str] = set()
        self.placeholders: set[str] = set()
        self.results: Sequence[Any] = ()

    def visit(self, node: Node) -> None:
        """Copies a node; first, without recursion, all that it needs."""
        waiting = [node]
        while waiting:
            last = waiting[-1]
            maker = self._makers.get(last)
            needs = self._needs(last) if maker is None else self.calls[maker].inputs
            missing = [n for n in needs if n not in self._new]
            if last not in self._new and missing:
                waiting += missing
                continue
            waiting.pop()
            if last in self._new:
                continue
            if maker is None:
                self._copy(last)
            else:
                self._call(maker)

    def settle_placeholders(self, graph: Graph) -> None:
        """Puts placeholders first, as in the old graph: one that only delegates need was copied with one of them."""
        for node in reversed(graph.find_nodes(op="placeholder")):
            if node in self._new:
                next(iter(self.graph.nodes)).prepend(self._new[node])

    def _needs(self, node: Node) -> list[Node]:
        return [self.same[node]] if node in self.same else node.all_input_nodes

    def _copy(self, node: Node) -> None:
        if node in self.same:
            self._new[node] = self._same(node)
            return
        new = self._new[node] = self.graph.node_copy(node, self._new.__getitem__)
        new.name = node.name  # a copy renames what shadows a builtin, such as "input"
        if node.op == "placeholder":
            self.placeholders.add(new.name)
        elif node.op == "get_attr":
            self._attributes.add(str(node.target))
        elif node.op == "output":
            self.results = cast(Sequence[Any], new.args[0])

    def _same(self, node: Node) -> Node:
        """What a node is the same as; of an input of the program, which may be written to, a copy for the caller."""
        new = self._new[self.same[node]]
        if new.op != "placeholder" or not any(user.op == "output" for user in node.users):
            return new
        copy = self.graph.call_function(torch.ops.aten.clone.default, (new,))
        copy.name, copy.meta = node.name, dict(node.meta)
        return copy

    def _call(self, number: int) -> None:
        planned = self.calls[number]
        module = self.graph.get_attr(self._names[number])
        call = self.graph.call_function(executorch_call_delegate, (module, *(self._new[n] for n in planned.inputs)))
        call.name = f"{self._names[number]}_call"
        metas = call.meta["val"] = tuple(node.meta["val"] for node in planned.outputs)
        for position, (node, meta) in enumerate(zip(planned.outputs, metas, strict=True)):
            result = self._new[node] = self.graph.call_function(operator.getitem, (call, position))
            result.name = node.name
            result.meta = {"val": meta}

    def attributes(self, module: GraphModule) -> dict[str, Any]:
        """What the new graph's nodes refer to; that of old ones is taken from the old module."""
        own = {name: call.module for name, call in zip(self._names, self.calls, strict=True)}
        return own | {name: operator.attrgetter(name)(module) for name in self._attributes}
