"""Reductions, and what is ordered or summed along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...file_graph import FileNode
from ...ordered import largest
from .table import ROWS, axis_of, is_float, listed, require


def _product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep, dtype=x.dtype)
    return x


def _of_floats(function: Callable[..., Tensor]) -> Callable[[Tensor, list[int], bool], Tensor]:
    """A reduction whose result is no integer, which ONNX does not say how to round."""

    def call(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        require(is_float(x), "it reduces integers to numbers that are none", "cast them to float before it")
        return function(x, axes, keepdim=keep)

    return call


def _sum(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return x.sum(axes, keepdim=keep, dtype=x.dtype)


REDUCTIONS: dict[str, Callable[[Tensor, list[int], bool], Tensor]] = {
    "ReduceL1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "ReduceL2": _of_floats(lambda x, axes, keepdim: (x * x).sum(axes, keepdim=keepdim).sqrt()),
    "ReduceLogSum": _of_floats(lambda x, axes, keepdim: x.sum(axes, keepdim=keepdim).log()),
    "ReduceLogSumExp": _of_floats(torch.logsumexp),
    "ReduceMax": torch.amax,
    "ReduceMean": _of_floats(torch.mean),
    "ReduceMin": torch.amin,
    "ReduceProd": _product,
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}


@ROWS.row(*REDUCTIONS, numbers=(1,))
def reduced(node: FileNode, x: Tensor, axes: Any = None) -> Tensor:
    axes, keeps = listed(axes if axes is not None else node.get("axes") or []), node.get("noop_with_empty_axes", 0)
    if not axes and keeps:
        node.get("keepdims")
        x = x.unsqueeze(0)  # the rest of the operator is done to each element
        return REDUCTIONS[node.kind](x, [0], False)
    keep = bool(node["keepdims"])
    if not x.dim():
        return REDUCTIONS[node.kind](x.unsqueeze(0), [0], False)
    axes = [axis_of(axis, x.dim()) for axis in axes] or list(range(x.dim()))
    return REDUCTIONS[node.kind](x, axes, keep)


@ROWS.row("ArgMax", "ArgMin")
def place(node: FileNode, x: Tensor) -> Tensor:
    axis = axis_of(node["axis"], x.dim())
    last, keep = node.get("select_last_index", 0), bool(node["keepdims"])
    x = x.flip(axis) if last else x
    made = (torch.argmax if node.kind == "ArgMax" else torch.argmin)(x, axis, keepdim=keep)
    return x.shape[axis] - 1 - made if last else made


@ROWS.row("CumSum", numbers=(1,))
def cumulative(node: FileNode, x: Tensor, axis: Any) -> Tensor:
    axis = axis_of(listed(axis)[0], x.dim())
    turned = x.flip(axis) if node["reverse"] else x
    made = torch.cumsum(turned, axis, dtype=x.dtype)
    made = made - turned if node["exclusive"] else made
    return made.flip(axis) if node["reverse"] else made


@ROWS.row("TopK", numbers=(1,))
def top_k(node: FileNode, x: Tensor, k: Any = None) -> list[Tensor]:
    count = node["k"] if k is None else listed(k)[0]
    axis = axis_of(node["axis"], x.dim())
    require(0 <= count <= x.shape[axis], f"it takes {count} of {x.shape[axis]} elements")
    node.get("sorted")  # the order of the others is free
    return list(largest(x, count, axis, smallest=not node.get("largest", 1)))
