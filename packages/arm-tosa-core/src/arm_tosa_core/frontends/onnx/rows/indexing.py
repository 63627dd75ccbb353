"""Operators that read or write elements at indices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ....support.errors import Rejected
from ...file_graph import FileNode
from ...file_model import Expansion
from .table import ROWS, axis_of, known, listed, require


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Indices from 0 on: ONNX counts negative ones from the end."""
    return torch.where(indices < 0, indices + size, indices)


@ROWS.row("Gather")
def gather(node: FileNode, x: Tensor, indices: Tensor) -> Tensor:
    axis = axis_of(node["axis"], x.dim())
    if not x.is_meta and not indices.is_meta and not is_fake(indices):
        _require_within(indices, x.shape[axis])
    if not indices.dim():  # PyTorch would read it as a number of Python
        return x[(slice(None),) * axis + (indices.reshape(1),)].squeeze(axis)
    made: Tensor = x[(slice(None),) * axis + (indices,)]
    return made


def is_fake(value: Tensor) -> bool:
    return type(value) is not Tensor


def _require_within(indices: Tensor, size: int) -> None:
    if indices.numel():
        low, high = int(indices.min()), int(indices.max())
        require(
            -size <= low and high < size, f"its index {low if low < -size else high} does not exist: there are {size}"
        )


@ROWS.expansion("Gather")
def constant_indices(node: FileNode, x: Tensor, indices: Tensor) -> Expansion | None:
    if not known(indices):
        return None
    axis = axis_of(node["axis"], x.dim())
    _require_within(indices, x.shape[axis])
    places, name = _from_front(indices, x.shape[axis]), f"{node.outputs[0]}/places"
    flat = places.reshape(-1)
    attributes: dict[str, Any] = {"axis": axis, "shape": list(indices.shape)}
    if flat.numel() and torch.equal(flat, torch.arange(int(flat[0]), int(flat[0]) + flat.numel())):
        attributes["first"], attributes["count"] = int(flat[0]), flat.numel()
        made = FileNode(node.name, "Gather/part", node.inputs[:1], node.outputs, node.place, attributes)
        return [made], {}
    made = FileNode(node.name, "Gather/places", (node.inputs[0], name), node.outputs, node.place, attributes)
    return [made], {name: flat.to(torch.int64)}


@ROWS.row("Gather/part")
def gathered_part(node: FileNode, x: Tensor) -> Tensor:
    axis, sizes = node["axis"], node["shape"]
    if not sizes:
        return x.select(axis, node["first"])
    made = x.narrow(axis, node["first"], node["count"])
    return made if len(sizes) == 1 else made.reshape([*x.shape[:axis], *sizes, *x.shape[axis + 1 :]])


@ROWS.row("Gather/places")
def gathered_places(node: FileNode, x: Tensor, places: Tensor) -> Tensor:
    axis, sizes = node["axis"], node["shape"]
    made = x.index_select(axis, places)
    return made if len(sizes) == 1 else made.reshape([*x.shape[:axis], *sizes, *x.shape[axis + 1 :]])


@ROWS.row("GatherElements")
def gather_elements(node: FileNode, x: Tensor, indices: Tensor) -> Tensor:
    axis = axis_of(node["axis"], x.dim())
    return torch.gather(x, axis, _from_front(indices.to(torch.int64), x.shape[axis]))


@ROWS.row("GatherND")
def gather_nd(node: FileNode, x: Tensor, indices: Tensor) -> Tensor:
    batches = node.get("batch_dims", 0)
    require(0 <= batches < min(x.dim(), indices.dim()), f"its batch_dims {batches} do not exist")
    if not batches and indices.dim() == 1:  # PyTorch would read each as a number of Python
        return x[tuple(indices.unsqueeze(0).unbind(-1))].squeeze(0)
    own = indices.dim() - 1  # the axes of each place
    among = [
        torch.arange(x.shape[axis], device=x.device).reshape([-1 if i == axis else 1 for i in range(own)])
        for axis in range(batches)
    ]
    made: Tensor = x[(*among, *indices.unbind(-1))]
    return made


_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@ROWS.row("ScatterElements", "Scatter")
def scatter_elements(node: FileNode, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis, how = axis_of(node["axis"], x.dim()), node.get("reduction", "none")
    places = _from_front(indices.to(torch.int64), x.shape[axis])
    if how == "none":
        return x.scatter(axis, places, updates)
    require(how in _REDUCTIONS, f"its reduction is {how}")
    return x.scatter_reduce(axis, places, updates, _REDUCTIONS[how])


@ROWS.row("ScatterND")
def scatter_nd(node: FileNode, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    how = node.get("reduction", "none")
    require(how in ("none", "add"), f"its reduction is {how}")
    return torch.index_put(x, tuple(indices.unbind(-1)), updates, accumulate=how == "add")


@ROWS.expansion("OneHot")
def typed_one_hot(node: FileNode, indices: Tensor, depth: Tensor, values: Tensor) -> Expansion:
    """With its two numbers and their type in it."""
    require(known(depth) and known(values), "its depth or values are computed while the model runs")
    ends: dict[str, Any] = {"axis": node["axis"], "depth": int(depth.reshape(-1)[0]), "dtype": values.dtype}
    ends["off"], ends["on"] = values.tolist()
    return [FileNode(node.name, "OneHot/numbers", node.inputs[:1], node.outputs, node.place, ends)], {}


@ROWS.row("OneHot/numbers")
def one_hot(node: FileNode, indices: Tensor) -> Tensor:
    count = node["depth"]
    axis = axis_of(node["axis"], indices.dim() + 1)
    places = indices.to(torch.int64).unsqueeze(axis)
    places = torch.where(places < 0, places + count, places)  # one beyond the depth has no place
    hits = places == torch.arange(count, device=places.device).reshape(
        [-1 if i == axis else 1 for i in range(places.dim())]
    )
    return torch.where(hits, node["on"], node["off"]).to(node["dtype"])


@ROWS.row("Compress", numbers=(1,))
def compress(node: FileNode, x: Tensor, condition: Any) -> Tensor:
    axis = node.get("axis")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.dim()))
    places = [i for i, chosen in enumerate(listed(condition)) if chosen]
    if not places:
        raise Rejected("it keeps nothing")
    return torch.cat([x.narrow(axis, place, 1) for place in places], axis)


@ROWS.row("GridSample")
def grid_sample(node: FileNode, x: Tensor, grid: Tensor) -> Tensor:
    modes = {
        "linear": "bilinear",
        "bilinear": "bilinear",
        "nearest": "nearest",
        "cubic": "bicubic",
        "bicubic": "bicubic",
    }
    padding, corners = node["padding_mode"], bool(node["align_corners"])
    return functional.grid_sample(x, grid, modes[node["mode"]], padding, corners)


@ROWS.row("AffineGrid", numbers=(1,))
def affine_grid(node: FileNode, theta: Tensor, size: Any) -> Tensor:
    return functional.affine_grid(theta, listed(size), bool(node["align_corners"]))
