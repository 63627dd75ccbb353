"""Operators that only move elements: shapes, axes, parts, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from .table import ROWS, axis_of, is_float, listed, opset, require


@ROWS.row("Reshape", numbers=(1,))
def reshape(node: FileNode, x: Tensor, shape: Any = None) -> Tensor:
    sizes = listed(node["shape"] if shape is None else shape)
    if not node.get("allowzero", 0):
        require(all(size or i < x.dim() for i, size in enumerate(sizes)), f"its shape {sizes} keeps an axis too many")
        sizes = [size or x.shape[i] for i, size in enumerate(sizes)]
    return x.reshape(sizes)


@ROWS.row("Flatten")
def flatten(node: FileNode, x: Tensor) -> Tensor:
    axis = node["axis"]
    axis = axis + x.dim() if axis < 0 else axis
    require(0 <= axis <= x.dim(), f"its axis {axis} does not exist")
    if 0 < axis < x.dim() and all(size == 1 for size in x.shape[1:axis]):
        return x.flatten(1) if x.dim() > 1 else x
    return x.reshape(int(torch.Size(x.shape[:axis]).numel()), -1)


@ROWS.row("Transpose")
def transpose(node: FileNode, x: Tensor) -> Tensor:
    return x.permute(node.get("perm") or list(reversed(range(x.dim()))))


@ROWS.row("Squeeze", numbers=(1,))
def squeeze(node: FileNode, x: Tensor, axes: Any = None) -> Tensor:
    given = axes if axes is not None else node.get("axes")
    if given is None:
        return x.squeeze()
    chosen = [axis_of(axis, x.dim()) for axis in listed(given)]
    require(all(x.shape[axis] == 1 for axis in chosen), f"it drops the axes {chosen} of {list(x.shape)}")
    return x.squeeze(chosen)


@ROWS.row("Unsqueeze", numbers=(1,))
def unsqueeze(node: FileNode, x: Tensor, axes: Any = None) -> Tensor:
    given = listed(axes if axes is not None else node["axes"])
    for axis in sorted(axis_of(axis, x.dim() + len(given)) for axis in given):
        x = x.unsqueeze(axis)
    return x


@ROWS.row("Expand", numbers=(1,))
def expand(node: FileNode, x: Tensor, shape: Any) -> Tensor:
    sizes, wanted = list(x.shape), listed(shape)
    sizes, wanted = [1] * (len(wanted) - len(sizes)) + sizes, [1] * (len(sizes) - len(wanted)) + wanted
    return x.expand([old if new == 1 else new for old, new in zip(sizes, wanted, strict=True)])


@ROWS.row("Tile", numbers=(1,))
def tile(node: FileNode, x: Tensor, repeats: Any) -> Tensor:
    return x.repeat(listed(repeats))


@ROWS.row("Concat")
def concat(node: FileNode, *parts: Tensor) -> Tensor:
    return torch.cat(parts, axis_of(node["axis"], parts[0].dim()))


@ROWS.row("Split", numbers=(1,))
def split(node: FileNode, x: Tensor, sizes: Any = None) -> Sequence[Tensor]:
    axis = axis_of(node["axis"], x.dim())
    sizes = sizes if sizes is not None else node.get("split")
    if sizes is None:
        count = node.get("num_outputs") or len(node.outputs)
        each = -(-x.shape[axis] // count)  # the last one is smaller where they cannot be equal
        sizes = [each] * (count - 1) + [x.shape[axis] - each * (count - 1)]
    sizes = listed(sizes)
    require(sum(sizes) == x.shape[axis] and min(sizes) >= 0, f"its parts {sizes} are not the {x.shape[axis]} elements")
    return torch.split_with_sizes(x, sizes, axis)


#: The largest integers, which stand for the end of an axis.
_FARTHEST = (2**31 - 1, 2**63 - 1)


@ROWS.row("Slice", numbers=(1, 2, 3, 4))
def sliced(
    node: FileNode, x: Tensor, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> Tensor:
    starts, ends = (
        listed(node["starts"] if starts is None else starts),
        listed(node["ends"] if ends is None else ends),
    )
    axes = listed(axes if axes is not None else node.get("axes") or list(range(len(starts))))
    steps = [1] * len(starts) if steps is None else listed(steps)
    require(len(starts) == len(ends) == len(axes) == len(steps) and 0 not in steps, "its starts, ends and axes differ")
    for start, end, given, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis_of(given, x.dim())
        if step < 0:
            start = max(start, -x.shape[axis])  # ONNX: from the first element, where Python has none
            end = None if end in _FARTHEST else end  # ONNX Runtime: as far as there are elements
        places = range(*slice(start, end, step).indices(x.shape[axis]))
        if places == range(x.shape[axis]):
            continue
        low, high = (places[0], places[-1]) if step > 0 and len(places) else (0, -1)
        if step < 0 and len(places):
            low, high = places[-1], places[0]
        x = torch.ops.aten.slice.Tensor(x, axis, low, high + 1, abs(step))
        x = x.flip(axis) if step < 0 else x
    return x


@ROWS.row("Pad", numbers=(1, 2, 3))
def pad(node: FileNode, x: Tensor, pads: Any = None, value: Any = None, axes: Any = None) -> Tensor:
    edges = listed(node["pads"] if pads is None else pads)
    chosen = [axis_of(axis, x.dim()) for axis in (range(x.dim()) if axes is None else listed(axes))]
    require(len(edges) == 2 * len(chosen), f"it has {len(edges)} pads for {len(chosen)} axes")
    sides = {axis: (edges[i], edges[i + len(chosen)]) for i, axis in enumerate(chosen)}
    mode = node["mode"]
    if mode == "constant":
        fill = (
            listed(node.get("value", 0) if value is None else value)[0] if opset(node) < 11 or value is not None else 0
        )
        flat = [edge for axis in reversed(range(x.dim())) for edge in sides.get(axis, (0, 0))]
        return functional.pad(x, flat, value=fill)
    for axis, (before, behind) in sides.items():
        first, last = max(-before, 0), x.shape[axis] - max(-behind, 0)  # what a negative pad cuts, nothing repeats
        require(first <= last, f"its pads {edges} cut more than there is")
        x = x.narrow(axis, first, last - first) if last - first < x.shape[axis] else x
        before, behind = max(before, 0), max(behind, 0)
        if before or behind:
            places = _mirrored(x.shape[axis], before, behind, mode)
            x = _padded(x, axis, before, behind, mode, places)
    return x


def _mirrored(size: int, before: int, behind: int, mode: str) -> list[int]:
    """The elements that stand along a padded axis."""
    require(mode in ("reflect", "edge", "wrap") and size, f"its mode is {mode}, of {size} elements")
    period = max(2 * size - 2, 1)
    made = []
    for place in range(-before, size + behind):
        if mode == "reflect":
            place = min(place % period, period - place % period) if size > 1 else 0
        made.append(place % size if mode == "wrap" else min(max(place, 0), size - 1))
    return made


def _padded(x: Tensor, axis: int, before: int, behind: int, mode: str, places: list[int]) -> Tensor:
    """The axis as these elements. PyTorch's own padding, where it has the case: it has rules."""
    small = max(before, behind) < x.shape[axis]
    if is_float(x) and mode in ("reflect", "edge") and small and axis >= 2 and 3 <= x.dim() <= 5:
        edges = [0] * 2 * (x.dim() - 2)
        edges[2 * (x.dim() - 1 - axis) : 2 * (x.dim() - axis)] = [before, behind]
        return functional.pad(x, edges, mode="reflect" if mode == "reflect" else "replicate")
    return torch.cat([x.narrow(axis, place, 1) for place in places], axis)


@ROWS.row("DepthToSpace")
def depth_to_space(node: FileNode, x: Tensor) -> Tensor:
    block = node["blocksize"]
    if node.get("mode", "DCR") == "CRD":
        return functional.pixel_shuffle(x, block)
    n, c, h, w = x.shape
    parts = x.reshape(n, block, block, c // (block * block), h, w).permute(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, c // (block * block), h * block, w * block)


@ROWS.row("SpaceToDepth")
def space_to_depth(node: FileNode, x: Tensor) -> Tensor:
    block, (n, c, h, w) = node["blocksize"], x.shape
    parts = x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * block * block, h // block, w // block)


@ROWS.row("Trilu", numbers=(1,))
def triangle(node: FileNode, x: Tensor, k: Any = None) -> Tensor:
    diagonal = 0 if k is None else listed(k)[0]
    return torch.triu(x, diagonal) if node["upper"] else torch.tril(x, diagonal)


@ROWS.row("ReverseSequence", numbers=(1,))
def reverse_sequence(node: FileNode, x: Tensor, lengths: Any) -> Tensor:
    batch, time = node["batch_axis"], node["time_axis"]
    rows = []
    for i, length in enumerate(listed(lengths)):
        row = x.narrow(batch, i, 1)
        rows.append(
            torch.cat([row.narrow(time, 0, length).flip(time), row.narrow(time, length, x.shape[time] - length)], time)
        )
    return torch.cat(rows, batch)
