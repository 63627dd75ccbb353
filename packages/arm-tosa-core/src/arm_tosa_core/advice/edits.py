"""Copies of a request with another network: its graph or its weights edited, and exported again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torch import module_of_any_size
from ..compat.torch_sizes import dynamic_shapes
from ..lowering.operator_names import canonical
from ..quantize.probe.calls import Sample, as_call
from .candidate import Request

Tensors = Callable[[torch.Tensor], torch.Tensor]


def edited(
    request: Request, edit: Callable[[GraphModule], None], of_inputs: dict[int, Tensors] | None = None
) -> Request:
    """The request with an edited copy of its network.

    Args:
        edit: changes the module in place.
        of_inputs: what becomes of inputs of a call that change with it, by their place among the arguments.
    """
    module = module_of_any_size(copy.deepcopy(request.program))
    edit(module)
    module.graph.lint()
    module.recompile()
    example, *samples = (
        _changed(as_call(number, sample), of_inputs or {})
        for number, sample in enumerate([request.program.example_inputs or request.samples[0], *request.samples])
    )
    shapes = None if of_inputs else dynamic_shapes(request.program)
    program = torch.export.export(module, example[0], dict(example[1]), dynamic_shapes=shapes)
    return replace(request, program=program, samples=samples)


def _changed(call: Sample, of_inputs: dict[int, Tensors]) -> Sample:
    args, kwargs = call
    return tuple(of_inputs[i](value) if i in of_inputs else value for i, value in enumerate(args)), kwargs


def calls(module: GraphModule, operators: Sequence[str] | frozenset[str]) -> list[Node]:
    """The nodes that call one of these operators, by their ATen names."""
    return [node for node in module.graph.nodes if node.op == "call_function" and canonical(node.target) in operators]


def weight_of(node: Node) -> str | None:
    """Where the module has the weight of a layer; None: it is computed."""
    weight: Any = node.args[1]
    return str(weight.target) if isinstance(weight, Node) and weight.op == "get_attr" else None


def set_weight(module: GraphModule, name: str, change: Tensors) -> None:
    """Replaces a weight."""
    path, _, own = name.rpartition(".")
    owner = module.get_submodule(path)
    with torch.no_grad():
        weight = torch.nn.Parameter(change(getattr(owner, own).detach()).contiguous(), requires_grad=False)
    delattr(owner, own)
    setattr(owner, own, weight)
