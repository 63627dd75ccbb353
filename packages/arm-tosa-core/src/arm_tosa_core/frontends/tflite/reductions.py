"""Reductions, searches, and transforms over an axis."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..file_graph import FileNode
from ..ordered import largest
from .rows import ROWS, channels_first, channels_last


def _axes(axes: int | list[int]) -> list[int]:
    return axes if isinstance(axes, list) else [axes]


def _over(x: Tensor, axes: int | list[int]) -> list[int]:
    """Each axis once. None: the result is ``x``, for which PyTorch would take all."""
    return sorted({axis % x.dim() for axis in _axes(axes)}) if x.dim() else []


_AT_ONCE: dict[str, Any] = {"SUM": torch.sum, "REDUCE_MAX": torch.amax, "REDUCE_MIN": torch.amin}


@ROWS.row("SUM", "REDUCE_MAX", "REDUCE_MIN", numbers=(1,))
def all_axes_at_once(node: FileNode, x: Tensor, axes: int | list[int]) -> Tensor:
    over = _over(x, axes)
    made: Tensor = _AT_ONCE[node.kind](x, over, keepdim=node["keep_dims"]).to(x.dtype) if over else x
    return made


@ROWS.row("MEAN", numbers=(1,))
def mean(node: FileNode, x: Tensor, axes: int | list[int]) -> Tensor:
    keep, axes = node["keep_dims"], _over(x, axes)
    if not axes:
        return x
    if not x.is_floating_point():
        total = x.sum(axes, keepdim=keep, dtype=x.dtype)
        return torch.div(total, math.prod(x.shape[axis] for axis in axes), rounding_mode="trunc")
    if x.dim() == 4 and axes == [1, 2]:  # the image of each channel, as PyTorch has it
        made = channels_first(x).mean((2, 3), keepdim=keep)
        return channels_last(made) if keep else made
    return x.mean(axes, keepdim=keep)


_OVER_ONE_AXIS: dict[str, Any] = {"REDUCE_PROD": torch.prod, "REDUCE_ANY": torch.any, "REDUCE_ALL": torch.all}


@ROWS.row("REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL", numbers=(1,))
def one_axis_each(node: FileNode, x: Tensor, axes: int | list[int]) -> Tensor:
    for axis in reversed(_over(x, axes)):
        x = _OVER_ONE_AXIS[node.kind](x, axis, keepdim=node["keep_dims"]).to(x.dtype)
    return x


@ROWS.row("ARG_MAX", "ARG_MIN", numbers=(1,))
def arg_max(node: FileNode, x: Tensor, axis: int | list[int]) -> Tensor:
    function = torch.argmax if node.kind == "ARG_MAX" else torch.argmin
    return function(x.to(torch.uint8) if x.dtype == torch.bool else x, _axes(axis)[0]).to(node["dtypes"][0])


@ROWS.row("TOPK_V2", numbers=(1,))
def topk(node: FileNode, x: Tensor, count: int | list[int]) -> tuple[Tensor, Tensor]:
    values, places = largest(x, count[0] if isinstance(count, list) else count, -1)
    return values, places.to(node["dtypes"][1])


@ROWS.row("CUMSUM", numbers=(1,))
def cumsum(node: FileNode, x: Tensor, axis: int | list[int]) -> Tensor:
    (axis,) = _axes(axis)
    turned = x.flip(axis) if node["reverse"] else x
    total = torch.cumsum(turned, axis, dtype=x.dtype)
    total = total - turned if node["exclusive"] else total
    return total.flip(axis) if node["reverse"] else total


@ROWS.row("RFFT2D", numbers=(1,))
def rfft2d(node: FileNode, x: Tensor, sizes: list[int]) -> Tensor:
    made: Tensor = torch.fft.rfft(x, sizes[1]) if sizes[0] == x.shape[-2] == 1 else torch.fft.rfft2(x, sizes)
    return made
