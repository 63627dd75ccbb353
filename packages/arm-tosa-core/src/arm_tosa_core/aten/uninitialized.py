"""Tensors whose numbers are whatever memory holds: zeros in their place, so that a program always gives the same."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..lowering.exported_program import copy_program

#: By operator, how many of its first arguments come before the sizes: -1 if they are those of the operand.
_EMPTY = {
    torch.ops.aten.empty.memory_format: 0,
    torch.ops.aten.empty_strided.default: 0,
    torch.ops.aten.new_empty.default: 1,
    torch.ops.aten.new_empty_strided.default: 1,
    torch.ops.aten.empty_like.default: -1,
    torch.ops.aten.empty_permuted.default: 0,
}


def is_uninitialized(node: Node) -> bool:
    """Whether a node makes a tensor without saying its numbers."""
    return node.target in _EMPTY


def with_zeros(program: ExportedProgram) -> ExportedProgram:
    """The program with zeros in place of uninitialized tensors; the one given is left as it is.

    ExecuTorch has no ``empty`` of sizes that vary, and a compiler that evaluates one keeps chance numbers.
    """
    program = copy_program(program)
    graph = program.graph
    for node in list(filter(is_uninitialized, graph.nodes)):
        meta = node.meta["val"]
        with graph.inserting_before(node):
            if (place := _EMPTY[node.target]) >= 0:
                zeros = graph.call_function(torch.ops.aten.full.default, (node.args[place], 0), {"dtype": meta.dtype})
                zeros.meta = {**node.meta, "val": meta.contiguous()}
            else:
                zeros = graph.call_function(torch.ops.aten.full_like.default, (node.args[0], 0), {"dtype": meta.dtype})
                zeros.meta = {**node.meta}
        node.replace_all_uses_with(zeros)
        graph.erase_node(node)
    return program
