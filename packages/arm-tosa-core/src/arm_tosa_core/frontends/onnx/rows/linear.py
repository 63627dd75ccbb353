"""Products of matrices."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from ...file_model import Expansion
from .table import ROWS, is_float, known, require


def _linear(node: FileNode, weight: Tensor, bias: Tensor | None) -> Expansion:
    """The operator as a linear layer with these constants."""
    constants = {f"{node.outputs[0]}/weight": weight.contiguous()}
    if bias is not None:
        constants[f"{node.outputs[0]}/bias"] = bias.contiguous()
    inputs = (node.inputs[0], *constants)
    return [FileNode(node.name, f"{node.kind}/linear", inputs, node.outputs, node.place)], constants


@ROWS.row("MatMul/linear", "Gemm/linear")
def linear(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return functional.linear(x, weight, bias)


@ROWS.row("MatMul")
def matmul(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    return torch.matmul(x, y)


@ROWS.expansion("MatMul")
def constant_matrix(node: FileNode, x: Tensor, y: Tensor) -> Expansion | None:
    return _linear(node, y.t(), None) if known(y) and y.dim() == 2 else None


@ROWS.row("Gemm")
def gemm(node: FileNode, x: Tensor, y: Tensor, bias: Tensor | None = None) -> Tensor:
    """With ``beta`` of 0 the bias is not read, as in BLAS: not even an infinite one counts."""
    plain = node["alpha"] == node["beta"] == 1.0
    require(is_float(x) or plain, f"its input is {str(x.dtype)[6:]}, and its alpha or beta is not 1", "multiply apart")
    x = x.t() if node["transA"] else x
    bias = None if node["beta"] == 0.0 else bias
    if node["transB"] and plain and is_float(x) and (bias is None or bias.dim() == 1):
        return functional.linear(x, y, bias)
    made = torch.matmul(x, y.t() if node["transB"] else y)
    made = made if node["alpha"] == 1.0 else made * node["alpha"]
    if bias is None:
        return made
    return made + (bias if node["beta"] == 1.0 else bias * node["beta"])


@ROWS.expansion("Gemm")
def constant_layer(node: FileNode, x: Tensor, y: Tensor, bias: Tensor | None = None) -> Expansion | None:
    if node["transA"] or not is_float(x) or not known(y) or not (bias is None or known(bias)):
        return None
    weight = y if node["transB"] else y.t()
    if node["beta"] == 0.0:
        bias = None
    if bias is not None:
        if bias.dim() > 1 and bias.shape[0] != 1:
            return None
        bias = (bias.reshape(-1) * node["beta"]).expand(weight.shape[0])
    return _linear(node, weight * node["alpha"], bias)


@ROWS.row("com.microsoft.FusedMatMul")
def fused_matmul(node: FileNode, x: Tensor, y: Tensor) -> Tensor:
    x = x.transpose(-1, -2) if node.get("transA", 0) else x
    y = y.transpose(-1, -2) if node.get("transB", 0) else y
    made = torch.matmul(x, y)
    return made * float(node.get("alpha", 1.0))


@ROWS.row("Einsum")
def einsum(node: FileNode, *values: Tensor) -> Tensor:
    return torch.einsum(node["equation"], *values)
