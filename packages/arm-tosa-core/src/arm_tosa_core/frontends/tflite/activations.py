"""Functions of one tensor."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ..file_graph import FileNode
from ..quantized_softmax import softmax_in_parts
from .rows import ROWS, channels_first, channels_last, fused

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


@ROWS.row("LOG")
def log(node: FileNode, x: Tensor) -> Tensor:
    """Of integers that stand for less than 0, where LiteRT has the lowest number."""
    return torch.log(x.clamp(min=0.0) if "scales" in node.attributes else x)


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
    if x.dim() == 4 and slope.numel() in (1, *slope.shape[-1:]):
        return channels_last(F.prelu(channels_first(x), slope.reshape(-1)))
    return torch.where(x >= 0, x, x * slope)


@ROWS.row("GELU")
def gelu(node: FileNode, x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh" if node["approximate"] else "none")


@ROWS.row("SOFTMAX")
def softmax(node: FileNode, x: Tensor) -> Tensor:
    x = x if node["beta"] == 1 else x * node["beta"]
    if "scales" not in node.attributes:
        return torch.softmax(x, -1)
    return softmax_in_parts(x, -1, node["scales"][0] * node["beta"] if node["bits"][0] == 8 else None)


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
    """Of real numbers to integers with 8 and 16 bits, the nearest that there is, as in LiteRT."""
    dtype = node["dtypes"][0]
    if x.is_floating_point() and dtype in (torch.int8, torch.uint8, torch.int16):
        ends = torch.iinfo(dtype)
        x = x.clamp(ends.min, ends.max)
    return x.to(dtype)
