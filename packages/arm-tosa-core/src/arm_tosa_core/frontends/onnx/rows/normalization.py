"""Normalization."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from .table import ROWS, axis_of, opset, require


@ROWS.row("BatchNormalization")
def batch(node: FileNode, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    require(not node.get("training_mode", 0), "it is in training mode", "export the model in eval mode")
    return functional.batch_norm(x, mean, variance, scale, bias, eps=node["epsilon"])


@ROWS.row("InstanceNormalization")
def instance(node: FileNode, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return functional.instance_norm(x, weight=scale, bias=bias, eps=node["epsilon"])


@ROWS.row("GroupNormalization")
def group(node: FileNode, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups = node["num_groups"]
    if opset(node) < 21:  # one scale a group
        each = x.shape[1] // groups
        scale, bias = (value.repeat_interleave(each) for value in (scale, bias))
    return functional.group_norm(x, groups, scale, bias, node["epsilon"])


@ROWS.row("LayerNormalization")
def layer(node: FileNode, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> Tensor | list[Tensor]:
    axis = axis_of(node["axis"], x.dim())
    sizes = x.shape[axis:]
    if len(node.outputs) > 1:
        axes = list(range(axis, x.dim()))
        mean = x.mean(axes, keepdim=True)
        spread = torch.rsqrt(((x - mean) ** 2).mean(axes, keepdim=True) + node["epsilon"])
        made = (x - mean) * spread * scale
        return [made if bias is None else made + bias, mean, spread]
    if scale.shape == sizes and (bias is None or bias.shape == sizes):
        return functional.layer_norm(x, sizes, scale, bias, node.get("epsilon", 1e-5))
    made = functional.layer_norm(x, sizes, eps=node.get("epsilon", 1e-5)) * scale
    return made if bias is None else made + bias


@ROWS.row("SkipLayerNormalization", "com.microsoft.SkipLayerNormalization")
def skip_layer(
    node: FileNode, x: Tensor, skip: Tensor, scale: Tensor, bias: Tensor | None = None, more: Tensor | None = None
) -> Tensor:
    total = x + skip if more is None else x + skip + more
    return functional.layer_norm(total, x.shape[-1:], scale, bias, node.get("epsilon", 1e-12))


@ROWS.row("RMSNormalization", "SimplifiedLayerNormalization")
def root_mean_square(node: FileNode, x: Tensor, scale: Tensor) -> Tensor:
    sizes = x.shape[axis_of(node.get("axis", -1), x.dim()) :]
    if scale.shape == sizes:
        return functional.rms_norm(x, sizes, scale, node.get("epsilon", 1e-5))
    return functional.rms_norm(x, sizes, eps=node.get("epsilon", 1e-5)) * scale


@ROWS.row("MeanVarianceNormalization")
def mean_variance(node: FileNode, x: Tensor) -> Tensor:
    axes = node["axes"]
    centred = x - x.mean(axes, keepdim=True)
    return centred / ((centred * centred).mean(axes, keepdim=True).sqrt() + 1e-9)


@ROWS.row("LpNormalization")
def unit(node: FileNode, x: Tensor) -> Tensor:
    axis = axis_of(node["axis"], x.dim())
    size = x.abs().sum(axis, keepdim=True) if node["p"] == 1 else (x * x).sum(axis, keepdim=True).sqrt()
    return torch.where(size == 0, torch.zeros_like(x), x / size) if opset(node) >= 22 else x / size


@ROWS.row("LRN")
def local_response(node: FileNode, x: Tensor) -> Tensor:
    size = node["size"]
    require(size % 2, f"its size {size} is even, whose window PyTorch places elsewhere")
    return functional.local_response_norm(x, size, node["alpha"], node["beta"], node["bias"])
