"""Functions of two tensors and more."""

from __future__ import annotations

from functools import reduce

import torch
from torch import Tensor

from ...support.errors import require
from ..file_graph import FileNode
from .rows import ROWS, fused

for _kind, _function in {
    "EQUAL": torch.eq,
    "FLOOR_DIV": torch.floor_divide,
    "FLOOR_MOD": torch.remainder,
    "GREATER": torch.gt,
    "GREATER_EQUAL": torch.ge,
    "LESS": torch.lt,
    "LESS_EQUAL": torch.le,
    "LOGICAL_AND": torch.logical_and,
    "LOGICAL_OR": torch.logical_or,
    "MAXIMUM": torch.maximum,
    "MINIMUM": torch.minimum,
    "NOT_EQUAL": torch.ne,
    "POW": torch.pow,
}.items():
    ROWS.row(_kind)(lambda node, x, y, _function=_function: _function(x, y))


@ROWS.row("ATAN2")
def atan2(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    require(x.shape == y.shape, "it has operands of two shapes")
    return torch.atan2(x, y)


@ROWS.row("ADD")
def add(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return fused(node, x + y)


@ROWS.row("SUB")
def sub(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return fused(node, x - y)


@ROWS.row("MUL")
def mul(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return fused(node, x * y)


@ROWS.row("DIV")
def div(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return fused(node, x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"))


@ROWS.row("ADD_N")
def add_n(node: FileNode, *terms: Tensor) -> Tensor:
    return reduce(torch.add, terms)


@ROWS.row("SQUARED_DIFFERENCE")
def squared_difference(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return torch.square(x - y)


@ROWS.row("SELECT", "SELECT_V2")
def select(node: FileNode, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if node.kind == "SELECT" and condition.dim() < x.dim():  # a condition for each row
        condition = condition.reshape(*condition.shape, *[1] * (x.dim() - condition.dim()))
    return torch.where(condition, x, y)


@ROWS.row("BATCH_MATMUL")
def batch_matmul(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return torch.matmul(x.mT if node["adjoint_x"] else x, y.mT if node["adjoint_y"] else y)
