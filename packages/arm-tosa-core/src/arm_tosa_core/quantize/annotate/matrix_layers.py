"""Products with a constant matrix, and what is added to them: linear layers, whatever the exporter wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ...lowering.exported_program import is_constant
from ...lowering.node_facts import facts


def linear_layer(node: Node) -> Callable[..., Any] | None:
    """What makes the linear layer of a product, or of a sum behind one; None if it is none."""
    if _is_product(node):
        return _layer
    return _layer_with_bias if _adds_bias(node) else None


def _is_product(node: Node) -> bool:
    """Whether a matrix product is a linear layer: with a constant matrix, or a parameter that is transposed."""
    products: tuple[Any, ...] = (torch.ops.aten.mm.default, torch.ops.aten.matmul.default, torch.ops.aten.addmm.default)
    if node.target not in products or node.kwargs:
        return False
    operands: Any = node.args
    *bias, x, matrix = operands
    ranks = [n.meta["val"].dim() for n in (x, matrix)]
    constant = all(is_constant(n) for n in (*bias, _untransposed(matrix) or matrix))
    return constant and not is_constant(x) and ranks[0] > 1 and bool(ranks[1] == 2)


def _layer(builder: Any, *operands: Any) -> Any:
    """The linear layer that a product is."""
    *bias, x, matrix = operands
    weight = _untransposed(matrix.node)
    own = type(matrix)(weight) if weight else builder.aten.contiguous(builder.aten.t(matrix))
    return builder.aten.linear(x, own, *bias)


def _untransposed(matrix: Node) -> Node | None:
    source = matrix.args[0] if matrix.target is torch.ops.aten.t.default else None
    return source if isinstance(source, Node) else None


def _adds_bias(node: Node) -> bool:
    """Whether a sum adds a constant per channel to a linear layer without a bias, whose result nobody else reads."""
    if node.target is not torch.ops.aten.add.Tensor or node.kwargs or len(node.all_input_nodes) != 2:
        return False
    layer, bias = _layer_first(*node.all_input_nodes)
    if layer.target is not torch.ops.aten.linear.default or any(layer.args[2:]) or layer.kwargs:
        return False
    alone = len(layer.users) == 1 and facts(layer).scheme is facts(node).scheme
    weight, channels = layer.args[1], layer.meta["val"].shape[-1:]
    known = isinstance(weight, Node) and is_constant(weight) and is_constant(bias)
    return alone and known and bool(bias.meta["val"].shape == channels)


def _layer_with_bias(builder: Any, *operands: Any) -> Any:
    """The linear layer that adds the constant itself, in its accumulator."""
    value = type(operands[0])
    layer, bias = _layer_first(*(operand.node for operand in operands))
    return builder.aten.linear(*map(value, layer.args[:2]), value(bias))


def _layer_first(first: Node, second: Node) -> tuple[Node, Node]:
    return (first, second) if second.op == "get_attr" else (second, first)
