"""Lists of views become slices: ExecuTorch's verifier fixes the sizes that vary where it runs the former."""

from __future__ import annotations

import operator

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch_sizes import symbolic_sizes

_ATEN = torch.ops.aten
_PARTS = (_ATEN.split.Tensor, _ATEN.split.sizes, _ATEN.split_with_sizes.default, _ATEN.chunk.default)
_LISTS = (*_PARTS, _ATEN.unbind.int)


def slice_varying_lists(program: ExportedProgram) -> None:
    """Makes slices of parts of tensors whose sizes vary, in place; along an axis that varies they stay as they are."""
    graph = program.graph
    for node in list(graph.nodes):
        if node.target in _LISTS and symbolic_sizes(node.args[0]) and all(map(_picks, node.users)):
            _slice(node)
    graph.lint()


def _picks(user: Node) -> bool:
    return user.target is operator.getitem


def _slice(node: Node) -> None:
    graph, x, is_row = node.graph, node.args[0], node.target is _ATEN.unbind.int
    dim = dict(enumerate(node.args)).get(1 if is_row else 2, node.kwargs.get("dim", 0))
    assert isinstance(dim, int)
    sizes = [1 if is_row else part.shape[dim] for part in node.meta["val"]]
    if not all(isinstance(size, int) for size in sizes):
        return
    for user in list(node.users):
        place = int(str(user.args[1]))
        start = sum(sizes[:place])
        with graph.inserting_before(user):
            part = (
                graph.call_function(_ATEN.select.int, (x, dim, place))
                if is_row
                else graph.call_function(_ATEN.slice.Tensor, (x, dim, start, start + sizes[place]))
            )
        part.meta = dict(user.meta)
        user.replace_all_uses_with(part)
        graph.erase_node(user)
        part.name = user.name  # the signature knows outputs by name
    graph.erase_node(node)
