"""Operators that give sizes, or constants of a size."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from ....support.errors import Rejected
from ...file_graph import FileNode
from ...refusals import CUT
from ..reader import torch_type
from .table import ROWS, listed, require

#: The most elements of a constant that a file may ask for by its size alone.
_LARGEST = 2**28


def _limited(sizes: list[int]) -> list[int]:
    require(all(size >= 0 for size in sizes) and prod(sizes) <= _LARGEST, f"it makes a constant of the sizes {sizes}")
    return sizes


@ROWS.row("Shape")
def shape(node: FileNode, x: Tensor) -> Tensor:
    return torch.tensor(list(x.shape)[node.get("start", 0) : node.get("end")], dtype=torch.int64)


@ROWS.row("Size")
def size(node: FileNode, x: Tensor) -> Tensor:
    return torch.tensor(x.numel())


@ROWS.row("ConstantOfShape", numbers=(0,))
def constant_of_shape(node: FileNode, sizes: Any) -> Tensor:
    value = node.get("value")
    value = torch.zeros(1) if value is None else value
    return torch.full(_limited(listed(sizes)), value.reshape(-1)[0].item(), dtype=value.dtype)


@ROWS.row("Range")
def arange(node: FileNode, start: Tensor, end: Tensor, step: Tensor) -> Tensor:
    require(not any(value.is_meta for value in (start, end, step)), "its ends are computed while the model runs")
    ends = [value.item() for value in (start, end, step)]
    require(ends[2], "its step is 0")
    _limited([max(0, int((ends[1] - ends[0]) / ends[2]) + 1)])
    return torch.arange(*ends, dtype=start.dtype)


@ROWS.row("EyeLike")
def eye_like(node: FileNode, x: Tensor) -> Tensor:
    dtype = torch_type(node["dtype"]) if node.get("dtype") else x.dtype
    k, (rows, columns) = node["k"], x.shape
    made = torch.zeros(_limited([rows, columns]), dtype=dtype)
    for i in range(max(0, -k), min(rows, columns - k)):
        made[i, i + k] = 1
    return made


@ROWS.row("NonZero")
def non_zero(node: FileNode, x: Tensor) -> Tensor:
    if x.is_meta:
        raise Rejected("how many results it has depends on numbers that are computed while the model runs", CUT)
    return (x if x.dim() else x.reshape(1)).nonzero().t()
