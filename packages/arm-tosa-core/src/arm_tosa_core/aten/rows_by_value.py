"""Parts of tensors whose place is a number that the program computes, such as the row of the best score."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..lowering.exported_program import copy_program

_ATEN = torch.ops.aten
_READS = (_ATEN.item.default, _ATEN._local_scalar_dense.default)


def has_row_by_value(node: Node) -> bool:
    """Whether a node selects a place that is an element of a tensor of integers."""
    index: Any = node.args[2] if node.target is _ATEN.select.int and len(node.args) > 2 else None
    if not isinstance(index, Node) or index.target not in _READS:
        return False
    kind = index.all_input_nodes[0].meta["val"].dtype
    return not kind.is_floating_point and kind != torch.bool


def indexed(program: ExportedProgram) -> ExportedProgram:
    """The program that selects such places with tensors; the one given is left as it is.

    PyTorch cannot trace a ``select`` at a number that it does not know.
    """
    program = copy_program(program)
    graph = program.graph
    for node in list(filter(has_row_by_value, graph.nodes)):
        x, dim, index = node.args
        (place,) = index.all_input_nodes
        meta = place.meta["val"]
        with graph.inserting_before(node):
            if meta.dim():
                scalar = graph.call_function(_ATEN.reshape.default, (place, []))
                scalar.meta = {**place.meta, "val": meta.new_empty([])}
                place = scalar
            if meta.dtype not in (torch.int32, torch.int64):
                wide = graph.call_function(_ATEN._to_copy.default, (place,), {"dtype": torch.int64})
                wide.meta = {**place.meta, "val": meta.new_empty([], dtype=torch.int64)}
                place = wide
            row = graph.call_function(_ATEN.index.Tensor, (x, [*[None] * (dim % x.meta["val"].dim()), place]))
        row.meta = {**node.meta, "val": node.meta["val"].new_empty(node.meta["val"].shape)}
        node.replace_all_uses_with(row)
        graph.erase_node(node)
        row.name = node.name  # the signature knows outputs by name
    graph.eliminate_dead_code()
    return program
