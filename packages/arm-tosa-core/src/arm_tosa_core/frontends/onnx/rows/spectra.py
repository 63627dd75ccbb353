"""Spectra: Fourier transforms as products with constant matrices, which quantize and run as layers do."""

from __future__ import annotations

from math import pi
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from ..reader import torch_type
from .table import ROWS, axis_of, listed, opset, require

#: Elements of the matrix of a transform at most.
_LARGEST = 2**24


def _turns(size: int, made: int, first: int) -> Tensor:
    """The angle of each element of a transform of ``size`` for each of the first elements that it reads."""
    require(size > 0 and made * first <= _LARGEST, f"its length {size} makes a matrix of {made} x {first}")
    places = torch.outer(torch.arange(made), torch.arange(first)) % size
    return places.to(torch.float64) * (2 * pi / size)


@ROWS.row("DFT", numbers=(1, 2))
def fourier(node: FileNode, x: Tensor, length: Any = None, axis: Any = None) -> Tensor:
    """Along one axis; the last holds real parts alone, or beside them imaginary ones."""
    if opset(node) < 20:
        axis = node["axis"]
    axis = axis_of(-2 if axis is None else listed(axis)[0], x.dim())
    require(axis < x.dim() - 1 and x.shape[-1] in (1, 2), "its last axis does not hold real and imaginary parts")
    inverse, half = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    back = inverse and half  # from half a spectrum to real numbers
    size = (2 * (x.shape[axis] - 1) if back else x.shape[axis]) if length is None else int(listed(length)[0])
    first = min(size // 2 + 1 if back else size, x.shape[axis])
    angles = _turns(size, size // 2 + 1 if half and not inverse else size, first) * (1 if inverse else -1)
    scale = torch.ones(first, dtype=torch.float64) / (size if inverse else 1)
    if back:
        scale[1 : (size + 1) // 2] *= 2  # and that of the half which is not there
    cosines, sines = ((part(angles) * scale).to(x.dtype).to(x.device) for part in (torch.cos, torch.sin))
    parts = x.narrow(axis, 0, first).transpose(axis, -2).unbind(-1)
    real, imaginary = ([functional.linear(part, matrix) for part in parts] for matrix in (cosines, sines))
    if back:
        require(len(parts) == 2, "its spectrum has no imaginary parts")
        made = (real[0] - imaginary[1]).unsqueeze(-1)
    elif len(parts) == 1:
        made = torch.stack([real[0], imaginary[0]], -1)
    else:
        made = torch.stack([real[0] - imaginary[1], imaginary[0] + real[1]], -1)
    return made.transpose(axis, -2)


@ROWS.row("STFT", numbers=(1, 2, 3))
def short_time_fourier(node: FileNode, x: Tensor, step: Any, window: Any = None, length: Any = None) -> Tensor:
    """A convolution: a frame for each step, a channel for each part of each frequency."""
    require(x.dim() == 2 or x.shape[-1] == 1, "its signal has imaginary parts")
    require(length is not None or window is not None, "it has neither a window nor a frame_length")
    size = len(window) if length is None else int(listed(length)[0])
    require(window is None or len(window) == size, "its window is not as long as its frame_length")
    signal = x.reshape(x.shape[0], 1, -1)
    count = size // 2 + 1 if node["onesided"] else size
    angles = _turns(size, count, size)
    matrix = torch.cat([torch.cos(angles), -torch.sin(angles)])
    matrix = matrix if window is None else matrix * torch.tensor(window, dtype=torch.float64)
    made = functional.conv1d(signal, matrix.to(x.dtype).to(x.device).unsqueeze(1), stride=int(listed(step)[0]))
    return made.reshape(x.shape[0], 2, count, -1).permute(0, 3, 2, 1)


#: The first numbers of the sums of cosines that windows are.
_WINDOWS = {"BlackmanWindow": (0.42, 0.5, 0.08), "HammingWindow": (25 / 46, 21 / 46), "HannWindow": (0.5, 0.5)}


@ROWS.row(*_WINDOWS, numbers=(0,))
def window(node: FileNode, size: Any) -> Tensor:
    count, dtype = int(listed(size)[0]), torch_type(node["output_datatype"])
    require(0 < count <= _LARGEST and dtype, f"it has {count} elements, or a type that is not read")
    period = count if node["periodic"] else count - 1
    angles = torch.arange(count, dtype=torch.float64) * (2 * pi / max(period, 1))
    parts = [(-1) ** k * a * torch.cos(k * angles) for k, a in enumerate(_WINDOWS[node.kind])]
    return torch.stack(parts).sum(0).to(dtype)
