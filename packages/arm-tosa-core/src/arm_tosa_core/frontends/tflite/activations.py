"""Functions of one tensor."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ..file_model import FileNode
from .rows import ROWS, channels_first, channels_last, fused, narrow, wide

#: exp() of so much less than 0 is no step of an integer with 8 bits.
_FAR = 8.0

for _kind, _function in {
    "ABS": torch.abs,
    "CEIL": torch.ceil,
    "COMPLEX_ABS": torch.abs,
    "COS": torch.cos,
    "DENSIFY": torch.Tensor.contiguous,
    "ELU": F.elu,
    "EXP": torch.exp,
    "FLOOR": torch.floor,
    "HARD_SWISH": F.hardswish,
    "IMAG": torch.imag,
    "LOG": torch.log,
    "LOGICAL_NOT": torch.logical_not,
    "LOGISTIC": torch.sigmoid,
    "NEG": torch.neg,
    "REAL": torch.real,
    "RELU": F.relu,
    "RELU6": F.relu6,
    "ROUND": torch.round,
    "RSQRT": torch.rsqrt,
    "SIGN": torch.sign,
    "SIN": torch.sin,
    "SQRT": torch.sqrt,
    "SQUARE": torch.square,
    "TANH": torch.tanh,
    "ZEROS_LIKE": torch.zeros_like,
}.items():
    ROWS.row(_kind)(lambda node, x, _function=_function: _function(x))


@ROWS.row("QUANTIZE", "DEQUANTIZE")
def same_number(node: FileNode, x: Tensor) -> Tensor:
    return x if x.dtype == torch.float32 else x.float()


@ROWS.row("RELU_N1_TO_1", "RELU_0_TO_1")
def clamp(node: FileNode, x: Tensor) -> Tensor:
    return torch.clamp(x, -1 if node.kind == "RELU_N1_TO_1" else 0, 1)


@ROWS.row("LEAKY_RELU")
def leaky_relu(node: FileNode, x: Tensor) -> Tensor:
    return F.leaky_relu(x, node["alpha"])


@ROWS.row("PRELU")
def prelu(node: FileNode, x: Tensor, slope: Tensor) -> Tensor:
    if x.dim() == 4 and slope.numel() == slope.shape[-1]:
        return channels_last(F.prelu(channels_first(x), slope.reshape(-1)))
    return torch.where(x >= 0, x, x * slope)


@ROWS.row("GELU")
def gelu(node: FileNode, x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh" if node["approximate"] else "none")


@ROWS.row("SOFTMAX")
def softmax(node: FileNode, x: Tensor) -> Tensor:
    """Of integers, its parts: the distance from the largest in the integers' own steps, all else in 16 bits."""
    x = x if node["beta"] == 1 else x * node["beta"]
    if "scales" not in node.attributes:
        return torch.softmax(x, -1)
    distance, step = x - x.amax(-1, keepdim=True), node["scales"][0] * node["beta"]
    distance = narrow(distance, step, 127) if node["bits"][0] == 8 else wide(distance, _FAR)
    parts = wide(torch.exp(distance), 1.0)
    return parts * _reciprocal(parts.sum(-1, keepdim=True), x.shape[-1] + 0.5)


def _reciprocal(total: Tensor, most: float) -> Tensor:
    """Of numbers from 1 to ``most``: a table of 8 bits, and steps of Newton's, which cost less than one of 16 bits."""
    step = most / 255
    total, guess = wide(total, most), narrow(total, step, -128)
    found = wide(torch.reciprocal(torch.clamp(guess, min=max(step / 2, 0.8))), 1.25)
    error = step / 2 if step < 1 else max(0.5, 1 - 2 / step)  # of the guess, and its square of the next
    while error > 1e-3:
        found, error = wide(found * wide(2 - wide(total * found, 2.0), 2.0), 1.25), error * error
    return found


@ROWS.row("LOG_SOFTMAX")
def log_softmax(node: FileNode, x: Tensor) -> Tensor:
    return torch.log_softmax(x, -1)


@ROWS.row("L2_NORMALIZATION")
def l2_normalization(node: FileNode, x: Tensor) -> Tensor:
    return fused(node, F.normalize(x, dim=-1, eps=1e-6))


@ROWS.row("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: FileNode, x: Tensor) -> Tensor:
    size = 2 * node["radius"] + 1
    return channels_last(
        F.local_response_norm(channels_first(x), size, node["alpha"] * size, node["beta"], node["bias"])
    )


@ROWS.row("CAST")
def cast(node: FileNode, x: Tensor) -> Tensor:
    return x.to(node["dtypes"][0])
