"""Quantized models: QuantizeLinear and DequantizeLinear as PyTorch's export has them, and operators made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ....compat.torch import register_quantized_decomposed
from ....support.errors import Rejected
from ...file_graph import FileNode
from ...file_model import Expansion
from ..attributes import BITS, ZERO, Attributes
from ..reader import torch_type
from .table import ROWS, axis_of, known, require
from .windows import convolution

register_quantized_decomposed()

_WIDE = (torch.int32, torch.int64)
#: Attributes that only quantized operators have. The opset of a softmax tells which axes it covers.
_QUANTIZED = ("channels_last", "opset")


def _bounds(node: FileNode, dtype: torch.dtype) -> dict[str, Any]:
    info = torch.iinfo(dtype)
    low, high = (-8, 7) if node.get(BITS) == 4 else (info.min, info.max)
    return {"low": low, "high": high, "dtype": dtype}


def _scaled(node: FileNode, x: Tensor, scale: Tensor, zero: Tensor | None, bounds: Mapping[str, Any]) -> Expansion:
    """The operator with its scale in it: a number, or one for each place of an axis."""
    if not known(scale) or not (zero is None or known(zero)):
        raise Rejected("its scale is computed while the model runs")
    size = node.get("block_size", 0)
    if size and node.kind == "DequantizeLinear" and known(x):
        inputs = node.inputs
        attributes = {"axis": axis_of(node["axis"], x.dim()), "size": size, "zero": node.get(ZERO, 0)}
        return [FileNode(node.name, f"{node.kind}/blocks", inputs, node.outputs, node.place, attributes)], {}
    require(not size, "it has a scale for each block of an axis, and is no constant")
    reals = scale.reshape(-1).to(torch.float64)
    require(bool((reals > 0).all()) and bool(torch.isfinite(reals).all()), "a scale of it is not positive")
    zeros = torch.full(reals.shape, node.get(ZERO, 0)) if zero is None else zero.reshape(-1).to(torch.int64)
    require(zeros.shape == reals.shape, "it has another number of zero points than of scales")
    if scale.numel() == 1:
        attributes = {**bounds, "scale": reals[0].item(), "zero": int(zeros[0])}
        node.get("axis")
        return [FileNode(node.name, f"{node.kind}/tensor", node.inputs[:1], node.outputs, node.place, attributes)], {}
    axis = axis_of(node["axis"], x.dim())
    require(scale.dim() == 1 and scale.numel() == x.shape[axis], "its scales do not fit its axis")
    names = [f"{node.outputs[0]}/{what}" for what in ("scales", "zeros")]
    attributes = {**bounds, "axis": axis}
    inputs = (node.inputs[0], *names)
    made = FileNode(node.name, f"{node.kind}/channels", inputs, node.outputs, node.place, attributes)
    return [made], dict(zip(names, (scale.to(torch.float32), zeros), strict=True))


@ROWS.expansion("QuantizeLinear")
def quantize_linear(node: FileNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Expansion:
    given = node.get("output_dtype", 0)
    dtype = torch.int16 if node.get(ZERO) else torch_type(given) if given else torch.uint8
    dtype = dtype if zero is None else zero.dtype
    require(dtype in (torch.int8, torch.uint8, torch.int16), f"it makes {dtype}")
    assert dtype is not None
    node.get("precision")
    return _scaled(node, x, scale, zero, _bounds(node, dtype))


@ROWS.expansion("DequantizeLinear")
def dequantize_linear(node: FileNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Expansion:
    if x.dtype in _WIDE:
        require(known(x), f"it reads {x.dtype} that are computed while the model runs")
        return [
            FileNode(node.name, "DequantizeLinear/wide", node.inputs, node.outputs, node.place, node.attributes)
        ], {}
    require(x.dtype in (torch.int8, torch.uint8, torch.int16), f"it reads {x.dtype}")
    node.get("output_dtype")
    return _scaled(node, x, scale, zero, _bounds(node, x.dtype))


@ROWS.row("DequantizeLinear/wide")
def wide(node: FileNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """A bias, whose integers the compiler makes again."""
    require(zero is None or not bool((zero != 0).any()), "its zero point is not 0")
    node.get("output_dtype")
    if scale.numel() > 1:
        axis = axis_of(node["axis"], x.dim())
        scale = scale.reshape([-1 if i == axis else 1 for i in range(x.dim())])
    node.get("axis")
    return (x.to(torch.float64) * scale).to(torch.float32)


@ROWS.row("DequantizeLinear/blocks")
def by_block(node: FileNode, x: Tensor, scales: Tensor, zeros: Tensor | None = None) -> Tensor:
    """A constant with a scale for so many elements along its axis."""
    axis, size = node["axis"], node["size"]
    wide, *zero = (
        part.repeat_interleave(size, axis).narrow(axis, 0, x.shape[axis])
        for part in (scales, zeros)
        if part is not None
    )
    whole = x.to(torch.float32)
    return (whole - (zero[0].to(torch.float32) if zero else node["zero"])) * wide


@ROWS.row("QuantizeLinear/tensor", "DequantizeLinear/tensor", folds=False)
def by_tensor(node: FileNode, x: Tensor) -> Tensor:
    quantized = torch.ops.quantized_decomposed
    run = quantized.quantize_per_tensor if node.kind.startswith("Q") else quantized.dequantize_per_tensor
    made: Tensor = run(x, node["scale"], node["zero"], node["low"], node["high"], node["dtype"])
    return made


@ROWS.row("QuantizeLinear/channels", "DequantizeLinear/channels", folds=False)
def by_channel(node: FileNode, x: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    quantized = torch.ops.quantized_decomposed
    run = quantized.quantize_per_channel if node.kind.startswith("Q") else quantized.dequantize_per_channel
    made: Tensor = run(x, scales, zeros, node["axis"], node["low"], node["high"], node["dtype"])
    return made


def _around(node: FileNode, kind: str, reads: Sequence[tuple[int, int | None]], makes: int, **more: Any) -> Expansion:
    """A quantized operator as the real one between its quantize and dequantize operators.

    Args:
        kind: of the real one; it has the node's attributes, but those that say how it is quantized.
        reads: the places of its operands and of their scales; without scales it is real.
        makes: the place of the result's scale.
    """
    nodes, operands = [], []
    for place, scale in reads:
        if place >= len(node.inputs) or not node.inputs[place]:
            continue
        name = node.inputs[place]
        if scale is not None:
            real = f"{node.outputs[0]}/{place}"
            pair = (name, *node.inputs[scale : scale + 2])
            nodes.append(FileNode(node.name, "DequantizeLinear", pair, (real,), node.place, more))
            name = real
        operands.append(name)
    made = f"{node.outputs[0]}/real"
    assert isinstance(node.attributes, Attributes)
    attributes = node.attributes.of(kind, without=_QUANTIZED)
    nodes.append(FileNode(node.name, kind, tuple(operands), (made,), node.place, attributes))
    ends = (made, *node.inputs[makes : makes + 2])
    nodes.append(FileNode(node.name, "QuantizeLinear", ends, node.outputs, node.place))
    return nodes, {}


def _with_bias(
    node: FileNode, nodes: Sequence[FileNode], inputs: Sequence[Tensor], place: int, factor: float = 1.0
) -> Expansion:
    """The operators of ``_around`` with the bias, integers whose scale is that of the products, as a real one."""
    require(known(inputs[place]), "its bias is computed while the model runs")
    name, (layer, end) = f"{node.outputs[0]}/bias", nodes[-2:]
    real = inputs[place].to(torch.float64) * inputs[1].to(torch.float64) * inputs[4].reshape(-1) * factor
    with_bias = FileNode(layer.name, layer.kind, (*layer.inputs, name), layer.outputs, layer.place, layer.attributes)
    return [*nodes[:-2], with_bias, end], {name: real.to(torch.float32)}


@ROWS.expansion("QLinearConv")
def quantized_conv(node: FileNode, *inputs: Tensor) -> Expansion:
    nodes, constants = _around(node, "Conv", [(0, 1), (3, 4)], 6, axis=0)
    return _with_bias(node, nodes, inputs, 8) if len(inputs) > 8 else (nodes, constants)


@ROWS.expansion("QLinearMatMul")
def quantized_matmul(node: FileNode, *inputs: Tensor) -> Expansion:
    return _around(node, "MatMul", [(0, 1), (3, 4)], 6, axis=-1)


@ROWS.expansion("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def quantized_pair(node: FileNode, *inputs: Tensor) -> Expansion:
    return _around(node, node.kind[len("com.microsoft.QLinear") :], [(0, 1), (3, 4)], 6)


@ROWS.expansion("com.microsoft.QLinearWhere")
def quantized_choice(node: FileNode, *inputs: Tensor) -> Expansion:
    return _around(node, "Where", [(0, None), (1, 2), (4, 5)], 7)


@ROWS.expansion(*(f"com.microsoft.QLinear{kind}" for kind in ("Sigmoid", "LeakyRelu", "Softmax", "ReduceMean")))
def quantized_function(node: FileNode, x: Tensor, *others: Tensor) -> Expansion:
    last = node.get("axis", -1) in (-1, x.dim() - 1)
    require(last or node.get("opset", 13) >= 13 or "Softmax" not in node.kind, "it covers several axes")
    return _around(node, node.kind[len("com.microsoft.QLinear") :], [(0, 1)], 3)


@ROWS.expansion("com.microsoft.QLinearAveragePool", "com.microsoft.QLinearGlobalAveragePool")
def quantized_pool(node: FileNode, *inputs: Tensor) -> Expansion:
    require(not node.get("channels_last", 0), "its channels are last")
    return _around(node, node.kind[len("com.microsoft.QLinear") :], [(0, 1)], 3)


@ROWS.expansion("com.microsoft.QLinearConcat")
def quantized_concat(node: FileNode, *inputs: Tensor) -> Expansion:
    return _around(node, "Concat", [(place, place + 1) for place in range(2, len(inputs), 3)], 0)


@ROWS.expansion("com.microsoft.QGemm")
def quantized_gemm(node: FileNode, *inputs: Tensor) -> Expansion:
    nodes, constants = _around(node, "Gemm", [(0, 1), (3, 4)], 7, axis=0 if node.get("transB", 0) else 1)
    if len(node.inputs) > 6 and node.inputs[6]:
        nodes, constants = _with_bias(node, nodes, inputs, 6, node.get("alpha", 1.0))
    if len(node.inputs) < 9:  # its result is real
        nodes = [*nodes[:-2], replace(nodes[-2], outputs=node.outputs)]
    return nodes, constants


@ROWS.expansion("com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear")
def of_onnxruntime(node: FileNode, *inputs: Tensor) -> Expansion:
    """ONNX Runtime's own, which had 16 bits before ONNX had them."""
    kind, attributes = node.kind[len("com.microsoft.") :], {"axis": node.get("axis", 1), ZERO: node.get(ZERO, 0)}
    return [FileNode(node.name, kind, node.inputs, node.outputs, node.place, attributes)], {}


@ROWS.row("DynamicQuantizeLinear")
def dynamic(node: FileNode, x: Tensor) -> list[Tensor]:
    low, high = x.amin().clamp(max=0.0), x.amax().clamp(min=0.0)
    scale = (high - low) / 255
    zero = torch.round(-low / scale).clamp(0, 255)
    return [(torch.round(x / scale) + zero).clamp(0, 255).to(torch.uint8), scale, zero.to(torch.uint8)]


@ROWS.row("MatMulInteger", "ConvInteger")
def integer_product(
    node: FileNode, x: Tensor, y: Tensor, x_zero: Tensor | None = None, y_zero: Tensor | None = None
) -> Tensor:
    """The product of integers in float32, which holds sums of up to 2**24 exactly."""
    a, b = x.to(torch.float32), y.to(torch.float32)
    a = a if x_zero is None else a - x_zero.to(torch.float32)
    if y_zero is not None:
        apart = y_zero.dim() == 1 and y_zero.numel() > 1 and node.kind == "ConvInteger"
        zero = y_zero.to(torch.float32)
        b = b - (zero.reshape([-1] + [1] * (b.dim() - 1)) if apart else zero)
    made = torch.matmul(a, b) if node.kind == "MatMulInteger" else convolution(node, a, b)
    return made.to(torch.int32)
