"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...file_model import FileNode
from .table import ROWS, axis_of, is_float, listed, opset, require

#: The type of ONNX Runtime's places; in others a place near the middle of two elements may be that of the other one.
_F = np.float32
#: Where an output element lies in the input, of its place, the scale, and the sizes of input and output.
_PLACES: dict[str, Callable[[np.float32, np.float32, int, int], np.float32]] = {
    "half_pixel": lambda o, scale, i, n: (o + _F(0.5)) / scale - _F(0.5),
    "pytorch_half_pixel": lambda o, scale, i, n: (o + _F(0.5)) / scale - _F(0.5) if n > 1 else _F(0.0),
    "half_pixel_symmetric": lambda o, scale, i, n: (
        _F(i) / _F(2) * (_F(1) - _F(n) / (scale * _F(i))) + (o + _F(0.5)) / scale - _F(0.5)
    ),
    "align_corners": lambda o, scale, i, n: o * _F(i - 1) / _F(n - 1) if n > 1 else _F(0.0),
    "asymmetric": lambda o, scale, i, n: o / scale,
}
_ROUND: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
    "floor": floor,
    "ceil": ceil,
}


@ROWS.row("Resize", numbers=(1, 2, 3))
def resize(node: FileNode, x: Tensor, roi: Any = None, scales: Any = None, sizes: Any = None) -> Tensor:
    if opset(node) < 11:  # the second input is that of scales
        scales, roi = roi, None
        return _resized(node, x, scales, None, "asymmetric", "of opset 10")
    require(node.get("keep_aspect_ratio_policy", "stretch") == "stretch", "it keeps the aspect ratio")
    places, rounds = node["coordinate_transformation_mode"], node.get("nearest_mode", "round_prefer_floor")
    require(places in _PLACES, f"its coordinate_transformation_mode is {places}")
    node.get("extrapolation_value")  # of tf_crop_and_resize
    return _resized(node, x, scales, sizes, places, rounds)


@ROWS.row("Upsample", numbers=(1,))
def upsample(node: FileNode, x: Tensor, scales: Any = None) -> Tensor:
    return _resized(node, x, node["scales"] if scales is None else scales, None, "asymmetric", "floor")


def _resized(node: FileNode, x: Tensor, scales: Any, sizes: Any, places: str, rounds: str) -> Tensor:
    axes = [axis_of(axis, x.dim()) for axis in node.get("axes") or range(x.dim())]
    given: list[float] = listed(scales if scales is not None else [])
    wanted: list[int] = listed(sizes if sizes is not None else [])
    require(len(given or wanted) == len(axes), "its scales or sizes do not fit its axes")
    factors, made = [1.0] * x.dim(), list(x.shape)
    for i, axis in enumerate(axes):
        made[axis] = wanted[i] if wanted else floor(_F(x.shape[axis]) * _F(given[i]))
        factors[axis] = made[axis] / x.shape[axis] if wanted else given[i]
    require(min(made) > 0, f"it makes the sizes {made}")
    mode = node["mode"]
    if made == list(x.shape):  # ONNX Runtime hands it on, whatever the scales are
        for attribute in ("antialias", "cubic_coeff_a", "exclude_outside"):
            node.get(attribute)
        return x
    if mode == "nearest":
        return _nearest(x, factors, made, places, rounds)
    require(made[:2] == list(x.shape[:2]), f"it changes the batch or the channels: {list(x.shape)} to {made}")
    return _smooth(node, x, factors, made, places)


def _nearest(x: Tensor, factors: Sequence[float], sizes: Sequence[int], places: str, rounds: str) -> Tensor:
    chosen = {}
    for axis, (old, new) in enumerate(zip(x.shape, sizes, strict=True)):
        if factors[axis] != 1.0:  # a scale of 1.05 leaves a size of 13, and moves elements
            of = [float(_PLACES[places](_F(o), _F(factors[axis]), old, new)) for o in range(new)]
            # ONNX Runtime's choice for opset 10, where ONNX has none
            choice = ("ceil" if factors[axis] < 1 else "floor") if rounds == "of opset 10" else rounds
            chosen[axis] = [min(max(_ROUND[choice](place), 0), old - 1) for place in of]
    for mode in ("nearest", "nearest-exact"):
        same = all(indices == _of_torch(x.shape[axis], sizes[axis], mode) for axis, indices in chosen.items())
        if same and is_float(x) and min(chosen) >= 2 and 3 <= x.dim() <= 5:
            return functional.interpolate(x, list(sizes[2:]), mode=mode)
    return _picked(x, chosen)


def _of_torch(old: int, new: int, mode: str) -> list[int]:
    """The elements that PyTorch's interpolation picks along an axis; it computes them in float32."""
    places = (np.arange(new, dtype=_F) + _F(0.5 if mode == "nearest-exact" else 0.0)) * (_F(old) / _F(new))
    return [min(int(place), old - 1) for place in places]


def _picked(x: Tensor, chosen: dict[int, list[int]]) -> Tensor:
    for axis, indices in chosen.items():
        x = torch.cat([x.narrow(axis, index, 1) for index in indices], axis)
    return x


def _smooth(node: FileNode, x: Tensor, factors: Sequence[float], sizes: Sequence[int], places: str) -> Tensor:
    mode, rank = node["mode"], x.dim() - 2
    modes = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}
    require(is_float(x), f"it interpolates {x.dtype}, which ONNX does not say how to round; cast it to float before it")
    require((mode, rank) in modes, f"it has the mode {mode} and {rank} axes")
    if mode == "cubic":
        require(abs(node["cubic_coeff_a"] + 0.75) < 1e-6 and not node.get("exclude_outside", 0), "its cubic is another")
    changed = [(old, new) for old, new in zip(x.shape[2:], sizes[2:], strict=True) if old != new]
    if places == "pytorch_half_pixel":
        places = "half_pixel" if all(new > 1 for _, new in changed) else places
    require(places in ("half_pixel", "align_corners"), f"its coordinate_transformation_mode is {places} for {mode}")
    require(not node.get("antialias", 0), "it has antialias")
    exact = all(abs(n * f - s) < 1e-6 for n, f, s in zip(x.shape[2:], factors[2:], sizes[2:], strict=True))
    if exact:
        corners = places == "align_corners"
        return functional.interpolate(x, list(sizes[2:]), mode=modes[mode, rank], align_corners=corners)
    made = [floor(n * f) for n, f in zip(x.shape[2:], factors[2:], strict=True)]
    copied = any(f != 1.0 and n == s for n, f, s in zip(x.shape[2:], factors[2:], sizes[2:], strict=True))
    # PyTorch's sizes, no axis that it copies as it is, and no corners: of ONNX, those of a size that is not whole
    fits = made == list(sizes[2:]) and not copied and places == "half_pixel"
    require(fits, f"its scales {factors[2:]} make no whole sizes of {list(x.shape[2:])}")
    return functional.interpolate(x, scale_factor=tuple(factors[2:]), mode=modes[mode, rank])
