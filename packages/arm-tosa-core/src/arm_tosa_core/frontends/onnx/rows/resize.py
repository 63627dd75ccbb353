"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from ...from_corner import resized_from_corner
from .resize_weights import cubic, linear, weights
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
    "tf_half_pixel_for_nn": lambda o, scale, i, n: (o + _F(0.5)) / scale,
}
_ROUND: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
    "floor": floor,
    "ceil": ceil,
}


@dataclass(frozen=True)
class _Resized:
    """What a node makes.

    Args:
        factors: by which each axis grows.
        sizes: of the result.
        places: the name of the rule that says where an element lies in the input.
        rounds: how ``nearest`` rounds a place.
    """

    factors: Sequence[float]
    sizes: Sequence[int]
    places: str
    rounds: str

    def along(self, x: Tensor, axis: int) -> list[float]:
        """The place in the input of each element along an axis, in ONNX Runtime's float32."""
        old, new, where = x.shape[axis], self.sizes[axis], _PLACES[self.places]
        return [float(where(_F(o), _F(self.factors[axis]), old, new)) for o in range(new)]


def _asked(node: FileNode, x: Tensor, roi: Any = None, scales: Any = None, sizes: Any = None) -> _Resized:
    if node.kind == "Upsample":
        return _made(node, x, node["scales"] if roi is None else roi, None, "asymmetric", "floor")
    if opset(node) < 11:  # the second input is that of scales
        return _made(node, x, roi, None, "asymmetric", "of opset 10")
    places, rounds = node["coordinate_transformation_mode"], node.get("nearest_mode", "round_prefer_floor")
    require(
        places in _PLACES,
        f"its coordinate_transformation_mode is {places}",
        "crop with Slice, and resize with half_pixel or align_corners",
    )
    node.get("extrapolation_value")  # of tf_crop_and_resize
    return _made(node, x, scales, sizes, places, rounds)


def _made(node: FileNode, x: Tensor, scales: Any, sizes: Any, places: str, rounds: str) -> _Resized:
    axes = [axis_of(axis, x.dim()) for axis in node.get("axes") or range(x.dim())]
    given: list[float] = listed(scales if scales is not None else [])
    wanted: list[int] = listed(sizes if sizes is not None else [])
    require(len(given or wanted) == len(axes), "its scales or sizes do not fit its axes")
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch" and wanted:
        choose = min if policy == "not_larger" else max
        given = [choose(new / x.shape[axis] for new, axis in zip(wanted, axes, strict=True))] * len(axes)
        wanted = []
    factors, made = [1.0] * x.dim(), list(x.shape)
    for i, axis in enumerate(axes):
        whole = x.shape[axis] * given[i] + 0.5 if policy != "stretch" and given else 0.0
        made[axis] = wanted[i] if wanted else floor(whole or _F(x.shape[axis]) * _F(given[i]))
        factors[axis] = made[axis] / x.shape[axis] if wanted else given[i]
    require(min(made) > 0, f"it makes the sizes {made}")
    return _Resized(factors, made, places, rounds)


@ROWS.row("Resize", "Upsample", numbers=(1, 2, 3))
def resize(node: FileNode, x: Tensor, roi: Any = None, scales: Any = None, sizes: Any = None) -> Tensor:
    how = _asked(node, x, roi, scales, sizes)
    if how.sizes == list(x.shape):  # ONNX Runtime hands it on, whatever the scales are
        for attribute in ("mode", "antialias", "cubic_coeff_a", "exclude_outside"):
            node.get(attribute)
        return x
    if node["mode"] == "nearest":
        return _nearest(x, how)
    made = _of_torch(node, x, how)
    if made is not None:
        return made
    for axis, (old, new) in enumerate(zip(x.shape, how.sizes, strict=True)):
        if old != new or how.factors[axis] != 1.0:
            x = functional.linear(x.transpose(axis, -1), _weights(node, x, axis, how).to(x)).transpose(axis, -1)
    return x


def _nearest(x: Tensor, how: _Resized) -> Tensor:
    chosen = {}
    for axis, old in enumerate(x.shape):
        if (factor := how.factors[axis]) != 1.0:  # a scale of 1.05 leaves a size of 13, and moves elements
            # ONNX Runtime's choice for opset 10, where ONNX has none
            choice = ("ceil" if factor < 1 else "floor") if how.rounds == "of opset 10" else how.rounds
            chosen[axis] = [min(max(_ROUND[choice](place), 0), old - 1) for place in how.along(x, axis)]
    for mode in ("nearest", "nearest-exact"):
        same = all(
            indices == _nearest_of_torch(x.shape[axis], how.sizes[axis], mode) for axis, indices in chosen.items()
        )
        if same and is_float(x) and min(chosen) >= 2 and 3 <= x.dim() <= 5:
            return functional.interpolate(x, list(how.sizes[2:]), mode=mode)
    return _picked(x, chosen)


def _nearest_of_torch(old: int, new: int, mode: str) -> list[int]:
    """The elements that PyTorch's interpolation picks along an axis; it computes them in float32."""
    places = (np.arange(new, dtype=_F) + _F(0.5 if mode == "nearest-exact" else 0.0)) * (_F(old) / _F(new))
    return [min(int(place), old - 1) for place in places]


def _picked(x: Tensor, chosen: dict[int, list[int]]) -> Tensor:
    for axis, indices in chosen.items():
        x = torch.cat([x.narrow(axis, index, 1) for index in indices], axis)
    return x


def _of_torch(node: FileNode, x: Tensor, how: _Resized) -> Tensor | None:
    """PyTorch's own interpolation, where it has the case: it has rules."""
    require(
        is_float(x), f"it interpolates {x.dtype}, which ONNX does not say how to round", "cast it to float before it"
    )
    modes = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}
    old, new, factors, places = x.shape[2:], list(how.sizes[2:]), how.factors[2:], how.places
    mode = modes.get((node["mode"], len(old)))
    node.get("cubic_coeff_a"), node.get("exclude_outside")
    plain = node["mode"] != "cubic" or (abs(node["cubic_coeff_a"] + 0.75) < 1e-6 and not node.get("exclude_outside", 0))
    exact = all(abs(o * f - n) < 1e-6 for o, f, n in zip(old, factors, new, strict=True))
    # ONNX and ONNX Runtime disagree about the corners then.
    require(
        exact or places != "align_corners", f"its scales {factors} make no whole sizes of {list(old)}", "give it sizes"
    )
    if mode is None or not plain or node.get("antialias", 0) or list(how.sizes[:2]) != list(x.shape[:2]):
        return None
    if places == "pytorch_half_pixel" and all(n > 1 for o, n in zip(old, new, strict=True) if o != n):
        places = "half_pixel"
    if exact and places == "asymmetric" and node["mode"] == "linear":
        return resized_from_corner(x, new, mode)
    if exact and places in ("half_pixel", "align_corners"):
        return functional.interpolate(x, new, mode=mode, align_corners=places == "align_corners")
    copied = any(f != 1.0 and o == n for o, f, n in zip(old, factors, new, strict=True))
    if places == "half_pixel" and new == [floor(o * f) for o, f in zip(old, factors, strict=True)] and not copied:
        return functional.interpolate(x, scale_factor=tuple(factors), mode=mode)
    return None


def _weights(node: FileNode, x: Tensor, axis: int, how: _Resized) -> Tensor:
    smooth, size = node["mode"] == "cubic", x.shape[axis]
    places = how.along(x, axis)
    stretch = max(1.0, 1 / how.factors[axis]) if node.get("antialias", 0) else 1.0
    kernel, reach = (cubic(node["cubic_coeff_a"]), 2) if smooth else (linear, 1)
    if not smooth and stretch == 1.0:  # beyond the ends, the element there
        places = [min(max(place, 0.0), size - 1.0) for place in places]
    return weights(places, size, kernel, reach, stretch, inside=bool(node.get("exclude_outside", 0)))
