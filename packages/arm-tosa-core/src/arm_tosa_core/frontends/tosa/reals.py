"""Operators of TOSA on float32 as PyTorch has them, so that a program of theirs can be quantized."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ...tosa.ir import DType, Op

#: By name of the operator: its result, of the operator and its operands that are tensors; None where PyTorch has no
#: such parameters.
Meaning = Callable[..., Tensor | None]

_PLAIN: dict[str, Callable[..., Tensor]] = {
    "ABS": torch.abs,
    "ADD": torch.add,
    "CEIL": torch.ceil,
    "COS": torch.cos,
    "EQUAL": torch.eq,
    "ERF": torch.erf,
    "EXP": torch.exp,
    "FLOOR": torch.floor,
    "GREATER": torch.gt,
    "GREATER_EQUAL": torch.ge,
    "LOG": torch.log,
    "MAXIMUM": torch.maximum,
    "MINIMUM": torch.minimum,
    "MUL": torch.mul,
    "NEGATE": torch.neg,
    "POW": torch.pow,
    "RECIPROCAL": torch.reciprocal,
    "RSQRT": torch.rsqrt,
    "SELECT": torch.where,
    "SIGMOID": torch.sigmoid,
    "SIN": torch.sin,
    "SUB": torch.sub,
    "TANH": torch.tanh,
}
_OPERATORS: dict[str, Meaning] = {name: lambda op, *x, of=function: of(*x) for name, function in _PLAIN.items()}


def in_pytorch(op: Op, operands: Sequence[Tensor]) -> Tensor | None:
    """The operator's result as PyTorch computes it; None: it is not of float32 alone, or PyTorch has none like it."""
    types = {tensor.dtype for tensor in (*op.inputs, *op.outputs) if tensor.dtype.is_float}
    computed = any(tensor.dtype is DType.SHAPE and tensor.data is None for tensor in op.inputs)
    if types != {DType.FP32} or computed or op.attrs.get("nan_mode", "PROPAGATE") != "PROPAGATE":
        return None
    return _OPERATORS[op.name](op, *operands) if op.name in _OPERATORS else None


def _meaning(*names: str) -> Callable[[Meaning], Meaning]:
    def add(function: Meaning) -> Meaning:
        _OPERATORS.update(dict.fromkeys(names, function))
        return function

    return add


def _numbers(op: Op, place: int) -> list[int]:
    """An operand that is a shape."""
    data = op.inputs[place].data
    assert data is not None
    return [int(number) for number in data.reshape(-1)]


@_meaning("CONV2D", "DEPTHWISE_CONV2D")
def _convolution(op: Op, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    groups = 1
    if op.name == "DEPTHWISE_CONV2D":
        height, width, groups, times = weight.shape
        kernel = weight.permute(2, 3, 0, 1).reshape(groups * times, 1, height, width)
    else:
        kernel = weight.permute(0, 3, 1, 2)
    top, bottom, left, right = op.attrs["pad"]
    image, around = x.permute(0, 3, 1, 2), [top, left]
    if (top, left) != (bottom, right):
        image, around = F.pad(image, (left, right, top, bottom)), [0, 0]
    bias = bias.expand(kernel.shape[0])
    y = F.conv2d(image, kernel, bias, op.attrs["stride"], around, op.attrs["dilation"], groups)
    return y.permute(0, 2, 3, 1)


@_meaning("TRANSPOSE_CONV2D")
def _transposed_convolution(op: Op, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    top, bottom, left, right = op.attrs["out_pad"]
    if max(op.attrs["out_pad"]) > 0:
        return None
    bias = bias.expand(weight.shape[0])
    y = F.conv_transpose2d(x.permute(0, 3, 1, 2), weight.permute(3, 0, 1, 2), bias, op.attrs["stride"])
    return y[:, :, -top : y.shape[2] + bottom, -left : y.shape[3] + right].permute(0, 2, 3, 1)


@_meaning("MATMUL")
def _product(op: Op, x: Tensor, y: Tensor) -> Tensor:
    return torch.bmm(x, y)


@_meaning("AVG_POOL2D", "MAX_POOL2D")
def _pool(op: Op, x: Tensor) -> Tensor | None:
    (top, bottom, left, right), kernel = op.attrs["pad"], op.attrs["kernel"]
    if (top, left) != (bottom, right) or 2 * top > kernel[0] or 2 * left > kernel[1]:
        return None
    image, stride = x.permute(0, 3, 1, 2), op.attrs["stride"]
    if op.name == "MAX_POOL2D":
        return F.max_pool2d(image, kernel, stride, (top, left)).permute(0, 2, 3, 1)
    return F.avg_pool2d(image, kernel, stride, (top, left), count_include_pad=False).permute(0, 2, 3, 1)


@_meaning("CLAMP")
def _clamp(op: Op, x: Tensor) -> Tensor:
    return x.clamp(op.attrs["min_val"], op.attrs["max_val"])


@_meaning("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM")
def _reduction(op: Op, x: Tensor) -> Tensor:
    axis = op.attrs["axis"]
    match op.name:
        case "REDUCE_MAX":
            return x.amax(axis, keepdim=True)
        case "REDUCE_MIN":
            return x.amin(axis, keepdim=True)
        case "REDUCE_PRODUCT":
            return x.prod(axis, keepdim=True)
    return x.sum(axis, keepdim=True)


@_meaning("CONCAT")
def _concat(op: Op, *parts: Tensor) -> Tensor:
    return torch.cat(parts, op.attrs["axis"])


@_meaning("PAD")
def _pad(op: Op, x: Tensor) -> Tensor:
    pairs, number = _numbers(op, 1), op.inputs[2].data
    assert number is not None
    last_first = [n for axis in reversed(range(x.dim())) for n in pairs[2 * axis : 2 * axis + 2]]
    return F.pad(x, last_first, value=number.item())


@_meaning("RESHAPE")
def _reshape(op: Op, x: Tensor) -> Tensor:
    return x.reshape(op.output.shape)


@_meaning("REVERSE")
def _reverse(op: Op, x: Tensor) -> Tensor:
    return x.flip(op.attrs["axis"])


@_meaning("SLICE")
def _slice(op: Op, x: Tensor) -> Tensor:
    ends = zip(_numbers(op, 1), op.output.shape, strict=True)
    for axis, (start, size) in enumerate(ends):
        x = x if size == x.shape[axis] else x.narrow(axis, start, size)
    return x


@_meaning("TILE")
def _tile(op: Op, x: Tensor) -> Tensor:
    return x.repeat(_numbers(op, 1))


@_meaning("TRANSPOSE")
def _transpose(op: Op, x: Tensor) -> Tensor:
    return x.permute(op.attrs["perms"])
