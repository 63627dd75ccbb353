"""Tensors without elements: TOSA has none, so no delegate may take or return one."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from ..lowering.exported_program import copy_program


def has_empty(node: Node) -> bool:
    """Whether a node is a tensor without elements, and a reader's result has elements."""
    return _is_empty(node) and any(map(_makes_elements, node.users))


def without_empty(program: ExportedProgram) -> ExportedProgram:
    """The program with constants in place of tensors without elements; the one given is left as it is.

    Such a tensor is known from its shape. ``cat`` reads one where a cache begins with nothing in it.
    """
    program = copy_program(program)
    for node in list(program.graph.nodes):
        if not has_empty(node):
            continue
        with program.graph.inserting_after(node):
            zeros = zeros_like(node, program.graph)
        node.replace_all_uses_with(zeros, _makes_elements)
    program.graph.eliminate_dead_code()
    return program


def zeros_like(node: Node, graph: Graph) -> Node:
    """A new node of a graph, known at compile time, of the shape and type of a node whose sizes are fixed."""
    meta = node.meta["val"]
    zeros: Node = graph.call_function(torch.ops.aten.full.default, (list(meta.shape), 0), {"dtype": meta.dtype})
    zeros.meta = {**node.meta, "val": meta.contiguous()}
    return zeros


def _is_empty(node: Node) -> bool:
    meta = node.meta.get("val")
    return isinstance(meta, torch.Tensor) and all(isinstance(size, int) for size in meta.shape) and 0 in meta.shape


def _makes_elements(node: Node) -> bool:
    return node.op == "call_function" and not _is_empty(node)
