"""What no program file can hold, refused by name before anything is made of it."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch_sizes import symbolic_sizes
from ..support.errors import UsageError
from .exported_program import source_line, user_results


def require_dense(name: str, data: Any) -> None:
    """Refuses a parameter or a buffer that is sparse.

    Raises:
        UsageError: names it.
    """
    if isinstance(data, torch.Tensor) and data.layout is not torch.strided:
        raise UsageError(f"{name} is a sparse tensor ({data.layout}): register it dense, as {name}.to_dense()")


def require_writable_program(program: ExportedProgram) -> None:
    """Refuses a program that ExecuTorch has no form for.

    That is one with sparse constants, text as a result or no tensor at all, or a ``scan`` that carries a tensor whose
    sizes vary: ExecuTorch 1.5 copies what comes next into memory that has another size then, which fails. PyTorch
    cannot trace a ``scan`` or ``map`` again whose steps make a tensor of numbers.

    Raises:
        UsageError: says which constant, result, ``scan`` or ``map``.
    """
    for target in (torch.ops.higher_order.scan, torch.ops.higher_order.map_impl):
        for node in program.graph.find_nodes(op="call_function", target=target):
            steps: Any = operator.attrgetter(str(node.all_input_nodes[0].target))(program.graph_module)
            if steps.graph.find_nodes(op="call_function", target=torch.ops.aten.lift_fresh_copy.default):
                raise UsageError(
                    f"{node.name} at {source_line(node)} makes a tensor of numbers in its steps, which PyTorch cannot "
                    "trace again: write the number, as in x + 3.0"
                )
    for node in program.graph.find_nodes(op="call_function", target=torch.ops.higher_order.scan):
        if any(symbolic_sizes(carried) for carried in node.args[1]):
            raise UsageError(
                f"scan at {source_line(node)} carries a tensor whose sizes vary, which ExecuTorch cannot run: export "
                "with these sizes fixed, or write the steps out"
            )
    for name, data in [*program.state_dict.items(), *program.constants.items()]:
        require_dense(name, data)
    results = user_results(program)
    for place, result in enumerate(results):
        if isinstance(result, str):
            raise UsageError(f"output {place} is the text {result!r}: a program returns tensors and numbers only")
    if not any(isinstance(result, Node) for result in results):
        raise UsageError("the model returns no tensor: there is nothing to compute")
