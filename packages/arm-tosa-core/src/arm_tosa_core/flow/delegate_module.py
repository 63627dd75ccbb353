"""What ExecuTorch keeps of a delegate: its payload, and a program that has the same inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from executorch.exir.lowered_backend_module import LoweredBackendModule
from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.fx import Graph, Node

from ..compat.executorch import is_delegate_call
from ..compat.torch import program_like, tree_flatten
from ..exir.compile_spec import ArmCompileSpec
from ..lowering.exported_program import attribute, plain_signature
from ..lowering.memory_order import memory_order
from ..lowering.regions import Region
from ..support.errors import LoweringError


def lowered_module(
    region: Region, payload: bytes, compile_spec: ArmCompileSpec, like: ExportedProgram, handles: Sequence[int] = ()
) -> Any:
    """The module that a call of the delegate refers to.

    Args:
        like: the program that the region is part of; lends its verifiers.
        handles: debug handles of the operators that the delegate does, for an ETRecord.
    """
    program, target = _StandIn.of(region, like), compile_spec.target()
    module = LoweredBackendModule(program, target.compiler.backend_id, payload, compile_spec.to_list())
    if handles and target.host.profile_event:
        module.meta = {"debug_handle_map": {target.host.profile_event: tuple(handles)}}
    return module


def check_memory(program: ExportedProgram) -> None:
    """Makes sure that what delegates read lies in memory as they were compiled to read it.

    Args:
        program: in the edge dialect, as ExecuTorch has traced it.

    Raises:
        LoweringError: it does not, which is a fault of this compiler.
    """
    for node in filter(is_delegate_call, program.graph.nodes):
        module, *operands = node.args
        compiled_for = attribute(module).original_module.graph.find_nodes(op="placeholder")
        for operand, expected in zip(operands, compiled_for, strict=False):
            if memory_order(operand.meta["val"]) != memory_order(expected.meta["val"]):
                raise LoweringError(
                    f"{operand.name} does not lie in memory as delegate {module.target} reads it: report it, and clone "
                    "the tensor in the model until it is mended"
                )


class _Results(torch.nn.Module):
    """Makes tensors of given shapes and strides; their numbers mean nothing."""

    def __init__(self, metas: list[torch.Tensor]) -> None:
        super().__init__()
        self.metas = metas

    def forward(self, *_: Any) -> list[torch.Tensor]:
        return [torch.empty_strided(tuple(m.shape), m.stride(), dtype=m.dtype) for m in self.metas]


class _StandIn(ExportedProgram):
    """A program with the signature of a region and nothing in it.

    ExecuTorch runs the program behind a delegate, on fake tensors, whenever it traces the call: only to learn the
    shapes of the results. Of the region itself that would cost as much as all of the rest.
    """

    results: _Results

    @staticmethod
    def of(region: Region, like: ExportedProgram) -> _StandIn:
        graph = Graph()
        inputs = [_placeholder(graph, node) for node in region.inputs]
        outputs = [_empty(graph, node) for node in region.outputs]
        graph.output(tuple(outputs))
        signature = plain_signature(inputs, outputs)
        call = [_call_of(len(inputs), len(outputs))]
        program: _StandIn = program_like(like, graph, signature, _StandIn, range_constraints={}, module_call_graph=call)
        program.results = _Results([node.meta["val"] for node in region.outputs])
        return program

    def module(self, check_guards: bool = True) -> torch.nn.Module:  # type: ignore[override]
        return self.results


def _call_of(inputs: int, outputs: int) -> ModuleCallEntry:
    """How the program is called: ExecuTorch's partitioners copy it as a plain program, which needs that."""
    in_spec, out_spec = tree_flatten(((0,) * inputs, {}))[1], tree_flatten((0,) * outputs)[1]
    return ModuleCallEntry("", ModuleCallSignature([], [], in_spec, out_spec))


def _placeholder(graph: Graph, node: Node) -> Node:
    new = graph.placeholder(node.name)
    new.meta["val"] = node.meta["val"]
    return new


def _empty(graph: Graph, node: Node) -> Node:
    meta = node.meta["val"]
    # ExecuTorch traces the graph, too, where another partitioner takes what reads the result.
    arguments = [[n if isinstance(n, int) else 1 for n in numbers] for numbers in (meta.shape, meta.stride())]
    new: Node = graph.call_function(torch.ops.aten.empty_strided.default, tuple(arguments), {"dtype": meta.dtype})
    new.meta["val"] = meta
    return new
