"""Operators that slide a window: convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from .table import ROWS, is_float, least, require

_CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
_MAXIMA = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
_MEANS: dict[int, Any] = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


@dataclass
class _Window:
    """A window of a node: for each spatial axis its size, step, spacing, and the padding before and behind."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    behind: list[int]

    @classmethod
    def of(cls, node: FileNode, x: Tensor, kernel: Sequence[int], *, dilated: bool = True) -> _Window:
        rank = len(kernel)
        require(rank == x.dim() - 2 and rank in _MAXIMA, f"its window has {rank} axes, and its input {x.dim()}")
        said = list(node.get("kernel_shape") or kernel)
        require(said == list(kernel), f"its kernel_shape is {said}, and its weights are of {list(kernel)}")
        ones = [1] * rank
        strides = list(node.get("strides") or ones)
        dilations = list((node.get("dilations") if dilated else None) or ones)
        pads = list(node.get("pads") or [0] * 2 * rank)
        require(
            len(strides) == len(dilations) == rank and len(pads) == 2 * rank and min(strides + dilations) > 0,
            "its strides, dilations or pads do not fit its window",
        )
        window = cls(list(kernel), strides, dilations, pads[:rank], pads[rank:])
        mode = node.get("auto_pad", "NOTSET")
        if mode != "NOTSET":
            window._pad(mode, x.shape[2:])
        else:
            why = f"its pads are {pads}, and ONNX has none below 0"
            require(min(pads) >= 0, why, "cut the input by a Slice before it")
        return window

    def _pad(self, mode: str, sizes: Sequence[int]) -> None:
        for i, size in enumerate(sizes):
            steps = -(-size // self.strides[i]) - 1
            whole = max(0, steps * self.strides[i] + self.reach(i) - size) if mode.startswith("SAME") else 0
            less, more = whole // 2, whole - whole // 2
            self.before[i], self.behind[i] = (less, more) if mode != "SAME_LOWER" else (more, less)

    def widen(self) -> None:
        """One more axis, before the others, along which it does not reach."""
        for numbers, one in (
            (self.kernel, 1),
            (self.strides, 1),
            (self.dilations, 1),
            (self.before, 0),
            (self.behind, 0),
        ):
            numbers.insert(0, one)

    def reach(self, i: int) -> int:
        """The elements that the window spans."""
        return (self.kernel[i] - 1) * self.dilations[i] + 1

    def padded(self, x: Tensor, value: float) -> tuple[Tensor, list[int]]:
        """The input, and the padding that remains: that of both sides, where they are alike."""
        if self.before == self.behind and min(self.before) >= 0:
            return x, self.before
        edges = [edge for i in reversed(range(len(self.kernel))) for edge in (self.before[i], self.behind[i])]
        return functional.pad(x, edges, value=value), [0] * len(self.kernel)

    def results(self, sizes: Sequence[int], ceil: bool) -> list[int]:
        """How many windows there are along each axis."""
        made = []
        for i, size in enumerate(sizes):
            room = size + self.before[i] + self.behind[i] - self.reach(i)
            count = (-(-room // self.strides[i]) if ceil else room // self.strides[i]) + 1
            if ceil and (count - 1) * self.strides[i] >= size + self.before[i]:
                count -= 1  # a window that would begin in the padding behind
            made.append(count)
        return made


@ROWS.row("Conv")
def conv(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _require_real(x)
    return convolution(node, x, weight, bias)


def _require_real(x: Tensor) -> None:
    require(is_float(x), f"its input is {str(x.dtype)[6:]}, and ONNX has it for reals only", "cast it before")


def convolution(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A convolution with the attributes of Conv."""
    window = _Window.of(node, x, weight.shape[2:])
    x, padding = window.padded(x, 0.0)
    run = _CONVOLUTIONS[len(padding)]
    return run(x, weight, bias, window.strides, padding, window.dilations, node["group"])


@ROWS.row("ConvTranspose")
def conv_transpose(node: FileNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _require_real(x)
    window = _Window.of(node, x, weight.shape[2:])
    rank = len(window.kernel)
    more = list(node.get("output_padding") or [0] * rank)
    whole = [(size - 1) * window.strides[i] + window.reach(i) for i, size in enumerate(x.shape[2:])]
    if node.get("auto_pad", "NOTSET").startswith("SAME") or node.get("output_shape"):
        wanted = node.get("output_shape") or [
            size * step for size, step in zip(x.shape[2:], window.strides, strict=True)
        ]
        for i, size in enumerate(wanted[-rank:]):
            total = whole[i] + more[i] - size
            require(total >= 0, f"its output_shape {wanted} is larger than what its window makes")
            less, upper = total // 2, node["auto_pad"] == "SAME_UPPER"
            window.before[i] = less if upper or total % 2 == 0 else total - less
            window.behind[i] = total - window.before[i]
    run, cut = _TRANSPOSED[rank], [slice(None)] * 2
    padding, extra = list(window.before), []
    for i in range(rank):
        rest = window.before[i] - window.behind[i] + more[i]  # beyond the symmetrical padding
        if rest >= max(window.strides[i], window.dilations[i]) or window.before[i] < 0:
            require(
                window.before[i] >= 0 and rest <= window.before[i], "its padding differs too much between the sides"
            )
            padding[i], rest, start = 0, 0, window.before[i]
        else:
            start = 0
        size = whole[i] - window.before[i] - window.behind[i] + more[i]
        extra.append(max(rest, 0))
        cut.append(slice(start, start + size))
    made = run(x, weight, bias, window.strides, padding, extra, node["group"], window.dilations)
    sizes = [part.stop - part.start for part in cut[2:]]
    return made if list(made.shape[2:]) == sizes else made[tuple(cut)]


@ROWS.row("MaxPool")
def max_pool(node: FileNode, x: Tensor) -> Tensor:
    window, ceil = _Window.of(node, x, node["kernel_shape"]), bool(node.get("ceil_mode", 0))
    same = node.get("auto_pad", "NOTSET").startswith("SAME")
    require(not same or max(window.dilations) == 1, "its window has SAME padding and dilations", "give it pads")
    if x.dim() == 3 and not is_float(x):  # PyTorch's own has no integers along one axis
        window.widen()
        return _largest(x.unsqueeze(2), window, ceil).squeeze(2)
    return _largest(x, window, ceil)


def _largest(x: Tensor, window: _Window, ceil: bool) -> Tensor:
    run, sizes = _MAXIMA[len(window.kernel)], window.results(x.shape[2:], ceil)
    padding = [max(0, min(pair)) for pair in zip(window.before, window.behind, strict=True)]
    if _fits(window, padding):
        for rounds_up in (False, True):  # up: the window reaches over the end, which is padding there
            made = run(x, window.kernel, window.strides, padding, window.dilations, rounds_up)
            if list(made.shape[2:]) == sizes:
                return made
    x, sizes = _extended(x, window, sizes, least(x.dtype))
    return run(x, window.kernel, window.strides, 0, window.dilations)


@ROWS.row("AveragePool")
def average_pool(node: FileNode, x: Tensor) -> Tensor:
    _require_real(x)
    window, ceil = _Window.of(node, x, node["kernel_shape"], dilated=False), bool(node.get("ceil_mode", 0))
    run, sizes = _MEANS[len(window.kernel)], window.results(x.shape[2:], ceil)
    counted = bool(node.get("count_include_pad", 0))
    padding = [max(0, min(pair)) for pair in zip(window.before, window.behind, strict=True)]
    alike = window.before == window.behind
    if _fits(window, padding) and (alike or not counted):
        for rounds_up in (False, True):
            made: Tensor = run(x, window.kernel, window.strides, padding, rounds_up, counted)
            if list(made.shape[2:]) == sizes:
                return made
    require(not (ceil and counted), "it has ceil_mode, count_include_pad and pads that differ between the sides")
    ones = torch.ones_like(x[:1, :1])
    weighed, _ = _extended(ones, window, sizes, 1.0 if counted else 0.0)
    x, _ = _extended(x, window, sizes, 0.0)
    made = run(x, window.kernel, window.strides)
    return made if counted else made / run(weighed, window.kernel, window.strides)


def _fits(window: _Window, padding: Sequence[int]) -> bool:
    """Whether PyTorch's pools take the padding, and it is the one before the first element."""
    halves = all(2 * pad <= size for pad, size in zip(padding, window.kernel, strict=True))
    return halves and list(padding) == window.before


def _extended(x: Tensor, window: _Window, sizes: list[int], value: float) -> tuple[Tensor, list[int]]:
    """The input padded so that exactly the windows of ``sizes`` fit."""
    edges: list[int] = []
    for i in reversed(range(len(window.kernel))):
        end = (sizes[i] - 1) * window.strides[i] + window.reach(i)
        edges += [window.before[i], end - window.before[i] - x.shape[2 + i]]
    return functional.pad(x, edges, value=value), sizes


@ROWS.row("LpPool")
def lp_pool(node: FileNode, x: Tensor) -> Tensor:
    window = _Window.of(node, x, node["kernel_shape"], dilated=False)
    require(not node.get("ceil_mode", 0), "it has ceil_mode")
    x, padding = window.padded(x.abs() ** node["p"], 0.0)
    means = _MEANS[len(window.kernel)](x, window.kernel, window.strides, padding, False, True)
    made: Tensor = (means * prod(window.kernel)) ** (1 / node["p"])
    return made


@ROWS.row("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(node: FileNode, x: Tensor) -> Tensor:
    axes = list(range(2, x.dim()))
    require(axes, "its input has no axes behind the channels")
    if node.kind == "GlobalAveragePool":
        return x.mean(axes, keepdim=True)
    return x.amax(axes, keepdim=True) if node.kind == "GlobalMaxPool" else x.norm(node["p"], axes, keepdim=True)
