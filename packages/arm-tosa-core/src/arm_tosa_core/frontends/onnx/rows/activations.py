"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from ...file_model import Expansion
from ...quantized_softmax import softmax_in_parts
from ..attributes import STEP, Attributes
from .table import ROWS, axis_of, known, opset, require

PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "HardSwish": functional.hardswish,
    "Mish": functional.mish,
    "Relu": torch.relu,
    "Sigmoid": torch.sigmoid,
    "Softplus": functional.softplus,
    "Softsign": functional.softsign,
    "Tanh": torch.tanh,
}


@ROWS.row(*PLAIN)
def plain(node: FileNode, x: Tensor) -> Tensor:
    return PLAIN[node.kind](x)


@ROWS.row("LeakyRelu")
def leaky_relu(node: FileNode, x: Tensor) -> Tensor:
    return functional.leaky_relu(x, node["alpha"])


@ROWS.row("Elu")
def elu(node: FileNode, x: Tensor) -> Tensor:
    return functional.elu(x, node["alpha"])


@ROWS.row("Celu")
def celu(node: FileNode, x: Tensor) -> Tensor:
    return functional.celu(x, node["alpha"])


@ROWS.row("Selu")
def selu(node: FileNode, x: Tensor) -> Tensor:
    return functional.elu(x, node["alpha"]) * float(node["gamma"])


@ROWS.row("ThresholdedRelu")
def thresholded_relu(node: FileNode, x: Tensor) -> Tensor:
    return functional.threshold(x, node["alpha"], 0.0)


@ROWS.row("Shrink")
def shrink(node: FileNode, x: Tensor) -> Tensor:
    edge, bias = node["lambd"], node["bias"]
    return torch.where(x > edge, x - bias, torch.where(x < -edge, x + bias, 0.0)).to(x.dtype)


@ROWS.row("HardSigmoid")
def hard_sigmoid(node: FileNode, x: Tensor) -> Tensor:
    alpha, beta = node["alpha"], node["beta"]
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return functional.hardsigmoid(x)
    return torch.clamp(x * alpha + beta, 0.0, 1.0)


@ROWS.row("Gelu", "com.microsoft.Gelu")
def gelu(node: FileNode, x: Tensor) -> Tensor:
    return functional.gelu(x, approximate=node.get("approximate", "none"))


@ROWS.row("com.microsoft.BiasGelu", "com.microsoft.FastGelu")
def gelu_of_sum(node: FileNode, x: Tensor, bias: Tensor | None = None) -> Tensor:
    how = "tanh" if node.kind.endswith("FastGelu") else "none"
    return functional.gelu(x if bias is None else x + bias, approximate=how)


#: Of an activation in a layer of ONNX Runtime, the names of its parameters.
_PARAMETERS = {"Clip": ("min", "max"), "HardSigmoid": ("alpha", "beta"), "LeakyRelu": ("alpha",)}


@ROWS.expansion("com.microsoft.FusedConv", "com.microsoft.FusedGemm")
def fused(node: FileNode, *inputs: Tensor) -> Expansion:
    """A layer, the sum with what it reads fourth, and an activation."""
    kind = node.kind[len("com.microsoft.Fused") :]
    activation, given = node.get("activation", ""), node.get("activation_params") or []
    names = _PARAMETERS.get(activation, ())
    if kind == "Gemm":
        alone = {f"activation_{name}": node.get(f"activation_{name}") for name in names}
        given = [value for value in alone.values() if value is not None]
    require(activation in {"", "Relu", "Sigmoid", "Tanh", *_PARAMETERS}, f"its activation is {activation}")
    require(len(given) == len(names), f"its activation {activation} has the parameters {given}")
    assert isinstance(node.attributes, Attributes)
    own = ("activation", "activation_params", *(f"activation_{name}" for name in ("alpha", "beta", "gamma")))
    steps: list[tuple[str, tuple[str, ...], Mapping[str, Any]]] = [(kind, (), node.attributes.of(kind, without=own))]
    if node.inputs[3:] and node.inputs[3]:
        steps.append(("Add", node.inputs[3:4], {}))
    if activation:
        steps.append((activation, (), dict(zip(names, given, strict=True))))
    nodes, last = [], node.inputs[:3]
    for place, (step, others, attributes) in enumerate(steps):
        made = node.outputs if place == len(steps) - 1 else (f"{node.outputs[0]}/{step}",)
        nodes.append(FileNode(node.name, step, (*last, *others), made, node.place, attributes))
        last = made
    return nodes, {}


@ROWS.row("Swish", "com.microsoft.QuickGelu")
def swish(node: FileNode, x: Tensor) -> Tensor:
    alpha = node["alpha"]
    return functional.silu(x) if alpha == 1.0 else x * torch.sigmoid(x * alpha)


@ROWS.row("PRelu")
def prelu_broadcast(node: FileNode, x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x < 0, x * slope, x)


@ROWS.expansion("PRelu")
def prelu_of_channels(node: FileNode, x: Tensor, slope: Tensor) -> Expansion | None:
    """A constant slope, one for all or one a channel, as PyTorch has it: a vector."""
    behind = slope.shape[1:] if slope.dim() == x.dim() - 1 else slope.shape[2:] if slope.dim() == x.dim() else (0,)
    one_a_channel = slope.numel() == x.shape[1] and all(size == 1 for size in behind) if x.dim() > 1 else False
    if not known(slope) or not (slope.numel() == 1 or one_a_channel):
        return None
    name = f"{node.outputs[0]}/slope"
    made = FileNode(node.name, "PRelu/channels", (node.inputs[0], name), node.outputs, node.place)
    return [made], {name: slope.reshape(-1)}


@ROWS.row("PRelu/channels")
def prelu(node: FileNode, x: Tensor, slope: Tensor) -> Tensor:
    return functional.prelu(x, slope)


@ROWS.row("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: FileNode, x: Tensor) -> Tensor:
    axis, shape = axis_of(node["axis"], x.dim()), x.shape
    if opset(node) < 13 and any(n != 1 for n in shape[axis + 1 :]):  # over all axes from this one on
        x = x.flatten(axis)
    if node.kind == "Hardmax":
        first = x.argmax(axis, keepdim=True)
        places = torch.arange(x.shape[axis], device=x.device).reshape([-1 if i == axis else 1 for i in range(x.dim())])
        made = (places == first).to(x.dtype)
    else:
        if node.kind == "Softmax" and (step := node.get(STEP)):
            return softmax_in_parts(x, axis, step)
        made = torch.softmax(x, axis) if node.kind == "Softmax" else torch.log_softmax(x, axis)
    return made if made.shape == shape else made.reshape(shape)
