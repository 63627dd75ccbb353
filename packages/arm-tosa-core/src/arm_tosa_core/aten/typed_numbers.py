"""Numbers beside tensors of rank 0 that stay on the CPU, as tensors of the result's type.

ExecuTorch (1.5, ``ScalarToTensorPass``) makes tensors of numbers that an operator reads as such, of int64 or float32.
Beside a tensor of rank 0 of another type its kernels then compute in that one, and the result has not the type that the
program says.
"""

from __future__ import annotations

from collections.abc import Container

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.executorch import aten_overload
from ..compat.torch import schema_of
from ..lowering.exported_program import copy_with_twins

#: The types that ExecuTorch gives to numbers; results of comparisons have their own.
_TYPES = (torch.int64, torch.float32, torch.bool)


def with_typed_numbers(program: ExportedProgram, elsewhere: Container[Node]) -> ExportedProgram | None:
    """The program in which such numbers are tensors of their result's type; the one given is left as it is.

    Args:
        elsewhere: nodes that do not run on the CPU.

    Returns:
        None: there are none.
    """
    places = {node: found for node in program.graph.nodes if node not in elsewhere and (found := _places(node))}
    if not places:
        return None
    program, twins = copy_with_twins(program)
    for original, numbers in places.items():
        node, dtype = twins[original], original.meta["val"].dtype
        for place in numbers:
            with node.graph.inserting_before(node):
                typed = node.graph.call_function(torch.ops.aten.full.default, ([], node.args[place]), {"dtype": dtype})
            typed.meta = {**node.meta, "val": torch.ops.aten.full.default([], node.args[place], dtype=dtype)}
            node.update_arg(place, typed)
    return program


def _places(node: Node) -> list[int]:
    """Where a node of another type has numbers as tensors beside tensors of rank 0."""
    value, schema = node.meta.get("val"), schema_of(aten_overload(node.target)) if node.op == "call_function" else None
    operands = [n.meta.get("val") for n in node.all_input_nodes]
    if schema is None or not isinstance(value, torch.Tensor) or value.dtype in _TYPES or not operands:
        return []
    if any(not isinstance(operand, torch.Tensor) or operand.dim() for operand in operands):
        return []
    kinds = [str(argument.type) for argument in schema.arguments]
    return [i for i, a in enumerate(node.args) if isinstance(a, (int, float)) and kinds[i] == "Tensor"]
