"""How tensors that stay on the CPU lie in memory once ExecuTorch has made its operators of PyTorch's."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch import OpOverload, schema_of, tree_map
from ..lowering.lowering import memory_order


def has_views(nodes: Collection[Node]) -> bool:
    """Whether one of these operators gives a view that is not row-major."""
    return any(_is_view(node) and not _is_row_major(node.meta.get("val")) for node in nodes)


def lay_out(program: ExportedProgram, outside: Collection[Node]) -> None:
    """Gives the operators that stay on the CPU the strides that they have in ExecuTorch, where views are copies.

    ``torch.export`` notes a view's strides: those of what it looks at. Whoever read its data by them in the copy would
    take them in the wrong order.

    Args:
        program: its nodes get new fake tensors in ``meta["val"]``.
        outside: nodes of it.
    """
    changed: set[Node] = set()
    for node in program.graph.nodes:
        if node not in outside or node.op != "call_function":
            continue
        if _is_view(node):
            made = tree_map(_row_major, node.meta["val"])
        elif not changed.isdisjoint(node.all_input_nodes):
            made = _made(node)
        else:
            continue
        changed.add(node)
        node.meta["val"] = made


def _is_view(node: Node) -> bool:
    if not isinstance(node.target, OpOverload):
        return False
    results = schema_of(node.target).returns
    return any(result.alias_info is not None and not result.alias_info.is_write for result in results)


def _is_row_major(value: Any) -> bool:
    tensors = value if isinstance(value, (list, tuple)) else [value]
    return all(memory_order(tensor) is None for tensor in tensors if isinstance(tensor, torch.Tensor))


def _row_major(value: Any) -> Any:
    return value.new_empty(value.shape) if isinstance(value, torch.Tensor) else value


def _made(node: Node) -> Any:
    """The fake result of an operator, of the fake tensors that it reads."""
    target: Any = node.target
    if target is operator.getitem or isinstance(target, OpOverload):
        operands: Any = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        return target(*operands[0], **operands[1])
    return node.meta["val"]
