"""Convolutions, matrix products and pools, whose images have channels last."""

from __future__ import annotations

import struct

import torch
from torch import Tensor
from torch.nn import functional as F

from ...support.errors import require
from ..file_graph import FileNode
from .rows import ROWS, channels_first, channels_last, fused

#: Before and after the image, for height and width.
Padding = tuple[tuple[int, int], tuple[int, int]]


def _padding(node: FileNode, x: Tensor, kernel: tuple[int, int]) -> Padding:
    """What SAME pads around an image with channels first; nothing for VALID."""
    if node["padding"] != 0:
        return (0, 0), (0, 0)
    found = []
    for size, taps, axis in zip(x.shape[2:], kernel, "hw", strict=True):
        found.append(_same(size, taps, node[f"stride_{axis}"], node.get(f"dilation_{axis}", 1)))
    return found[0], found[1]


def _same(size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """What SAME pads before and after an axis."""
    total = max((-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def _stride(node: FileNode) -> tuple[int, int]:
    stride = (node["stride_h"], node["stride_w"])
    require(min(stride) > 0, f"its stride is {stride}")
    return stride


def _around(x: Tensor, padding: Padding, value: float = 0.0) -> Tensor:
    (top, bottom), (left, right) = padding
    return F.pad(x, (left, right, top, bottom), value=value) if any((top, bottom, left, right)) else x


def _convolution(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None, groups: int) -> Tensor:
    x = channels_first(x)
    stride = _stride(node)
    padding = _padding(node, x, (weight.shape[2], weight.shape[3]))
    dilation = (node["dilation_h"], node["dilation_w"])
    if all(before == after for before, after in padding):
        around = (padding[0][0], padding[1][0])
    else:
        x, around = _around(x, padding), (0, 0)
    return fused(node, channels_last(F.conv2d(x, weight, bias, stride, around, dilation, groups)))


@ROWS.row("CONV_2D")
def conv_2d(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return _convolution(node, x, weight.permute(0, 3, 1, 2), bias, x.shape[3] // weight.shape[3])


@ROWS.row("CONV_3D")
def conv_3d(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Depth, height and width stand before the channels, which are last in the weights, too: input, then output."""
    stride, dilation = ([node[f"{name}_{axis}"] for axis in "dhw"] for name in ("stride", "dilation"))
    require(min(stride + dilation) > 0, f"its stride is {stride}")
    around: list[int] = []
    for size, taps, step, apart in zip(x.shape[1:4], weight.shape[:3], stride, dilation, strict=True):
        around[:0] = _same(size, taps, step, apart) if node["padding"] == 0 else (0, 0)
    x = F.pad(x.permute(0, 4, 1, 2, 3), around) if any(around) else x.permute(0, 4, 1, 2, 3)
    y = F.conv3d(x, weight.permute(4, 3, 0, 1, 2), bias, stride, 0, dilation, x.shape[1] // weight.shape[3])
    return fused(node, y.permute(0, 2, 3, 4, 1))


@ROWS.row("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return _convolution(node, x, weight.permute(3, 0, 1, 2), bias, x.shape[3])


def _transposed(
    node: FileNode, size: list[int], weight: Tensor, x: Tensor, bias: Tensor | None, same: bool, stride: tuple[int, int]
) -> Tensor:
    """The convolution backwards; of what it would make, SAME keeps the middle. Beyond it there is the bias alone."""
    reach = [(n - 1) * s + t for n, s, t in zip(x.shape[1:3], stride, weight.shape[1:3], strict=True)]
    missing = [max(wanted - made, 0) for wanted, made in zip(size, reach, strict=True)]
    require(all(m < s for m, s in zip(missing, stride, strict=True)), f"it makes {reach[0]}x{reach[1]}, and not {size}")
    y = F.conv_transpose2d(channels_first(x), weight.permute(3, 0, 1, 2), bias, stride, output_padding=missing)
    for axis, wanted, made in zip((2, 3), size, reach, strict=True):
        y = y.narrow(axis, max(made - wanted, 0) // 2 if same else 0, wanted)
    return channels_last(y)


@ROWS.row("TRANSPOSE_CONV", numbers=(0,))
def transpose_conv(node: FileNode, size: list[int], weight: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
    return fused(node, _transposed(node, size[1:3], weight, x, bias, node["padding"] == 0, _stride(node)))


@ROWS.row("CUSTOM Convolution2DTransposeBias")
def transpose_conv_with_bias(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Of MediaPipe; its options are C's: padding (1 is SAME), then strides of width and height."""
    require(len(node["custom"]) >= 12, "its options are cut short")
    padding, across, down = struct.unpack_from("<3i", node["custom"])
    require(min(across, down) > 0, f"its stride is {(down, across)}")
    same = padding == 1
    taps = weight.shape[1:3]
    size = [n * s if same else (n - 1) * s + t for n, s, t in zip(x.shape[1:3], (down, across), taps, strict=True)]
    return _transposed(node, size, weight, x, bias, same, (down, across))


@ROWS.row("FULLY_CONNECTED")
def fully_connected(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    require(node["format"] == 0, "its weights are shuffled", "make the file with weights in the default order")
    rows = x if node["keep_num_dims"] else x.reshape(-1, weight.shape[1])
    return fused(node, F.linear(rows, weight, bias))


@ROWS.row("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D")
def pool_2d(node: FileNode, x: Tensor) -> Tensor:
    require(
        node.kind == "MAX_POOL_2D" or x.is_floating_point(),
        "its integers have no scale",
        "give them a scale in the file",
    )
    x, kernel, stride = channels_first(x), (node["height"], node["width"]), _stride(node)
    require(min(kernel) > 0, f"its kernel is {kernel}")
    padding = _padding(node, x, kernel)
    if node.kind == "MAX_POOL_2D":
        y = _max_pool(x, kernel, stride, padding)
    elif node.kind == "AVERAGE_POOL_2D":
        y = _average_pool(x, kernel, stride, padding)
    else:
        y = _average_pool(x * x, kernel, stride, padding).sqrt()
    return fused(node, channels_last(y))


def _by_ceil_mode(x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: Padding) -> bool:
    """Whether PyTorch's ``ceil_mode`` makes the windows that uneven padding asks for: one more at the end."""
    for size, taps, step, (before, after) in zip(x.shape[2:], kernel, stride, padding, strict=True):
        up = -(-(size + 2 * before - taps) // step) + 1
        up -= (up - 1) * step >= size + before
        if up != (size + before + after - taps) // step + 1:
            return False
    return True


def _max_pool(x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: Padding) -> Tensor:
    before, uneven = [side[0] for side in padding], any(side[0] != side[1] for side in padding)
    if not uneven or _by_ceil_mode(x, kernel, stride, padding):
        return F.max_pool2d(x, kernel, stride, before, ceil_mode=uneven)
    (top, bottom), (left, right) = (
        padding  # a window at the border has the border's elements: repeated, they change nothing
    )
    return F.max_pool2d(F.pad(x, (left, right, top, bottom), mode="replicate"), kernel, stride)


def _average_pool(x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: Padding) -> Tensor:
    before, uneven = [side[0] for side in padding], any(side[0] != side[1] for side in padding)
    if not uneven or _by_ceil_mode(x, kernel, stride, padding):
        return F.avg_pool2d(x, kernel, stride, before, ceil_mode=uneven, count_include_pad=False)
    there = F.avg_pool2d(_around(torch.ones_like(x[:1, :1]), padding), kernel, stride)  # a part of each window
    return F.avg_pool2d(_around(x, padding), kernel, stride) / there
