"""Operators that only move numbers, or make them from sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...support.errors import require
from ..file_graph import FileNode
from ..from_corner import resized_from_corner
from ..refusals import CUT
from .rows import ROWS, channels_first, channels_last, fused


@ROWS.row("SHAPE")
def shape(node: FileNode, x: Tensor) -> Tensor:
    return torch.tensor(x.shape, dtype=node["dtypes"][0])


@ROWS.row("RANK")
def rank(node: FileNode, x: Tensor) -> Tensor:
    return torch.tensor(x.dim(), dtype=node["dtypes"][0])


@ROWS.row("BROADCAST_ARGS", numbers=(0, 1))
def broadcast_sizes(node: FileNode, one: list[int], other: list[int]) -> Tensor:
    return torch.tensor(np.broadcast_shapes(one, other), dtype=node["dtypes"][0])


@ROWS.row("RESHAPE", numbers=(1,))
def reshape(node: FileNode, x: Tensor, sizes: list[int] | None = None) -> Tensor:
    sizes = node["shape"] if sizes is None else sizes
    require(sizes is not None, "it has no sizes")
    return x.reshape(sizes)


@ROWS.row("SQUEEZE")
def squeeze(node: FileNode, x: Tensor) -> Tensor:
    return x.squeeze(tuple(node["axes"])) if node["axes"] else x.squeeze()


@ROWS.row("EXPAND_DIMS", numbers=(1,))
def expand_dims(node: FileNode, x: Tensor, axis: int | list[int]) -> Tensor:
    return x.unsqueeze(axis[0] if isinstance(axis, list) else axis)


@ROWS.row("TRANSPOSE", numbers=(1,))
def transpose(node: FileNode, x: Tensor, order: list[int]) -> Tensor:
    return x.permute(order)


@ROWS.row("CONCATENATION")
def concatenation(node: FileNode, *parts: Tensor) -> Tensor:
    return fused(node, torch.cat(parts, node["axis"]))


@ROWS.row("PACK")
def pack(node: FileNode, *parts: Tensor) -> Tensor:
    return torch.stack(parts, node["axis"])


@ROWS.row("UNPACK")
def unpack(node: FileNode, x: Tensor) -> Sequence[Tensor]:
    return x.unbind(node["axis"])


@ROWS.row("SPLIT", numbers=(0,))
def split(node: FileNode, axis: int | list[int], x: Tensor) -> Sequence[Tensor]:
    return x.chunk(node["count"], axis[0] if isinstance(axis, list) else axis)


@ROWS.row("SPLIT_V", numbers=(1, 2))
def split_v(node: FileNode, x: Tensor, sizes: list[int], axis: int | list[int]) -> Sequence[Tensor]:
    axis = axis[0] if isinstance(axis, list) else axis
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return torch.split(x, [rest if size < 0 else size for size in sizes], axis)


@ROWS.row("SLICE", numbers=(1, 2))
def slice_(node: FileNode, x: Tensor, begin: list[int], size: list[int]) -> Tensor:
    return x[tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin, size, strict=True))]


@ROWS.row("STRIDED_SLICE", numbers=(1, 2, 3))
def strided_slice(node: FileNode, x: Tensor, begin: list[int], end: list[int], strides: list[int]) -> Tensor:
    """As of NumPy: a bit of a mask is for the entry at its place."""

    def masked(mask: str, place: int) -> bool:
        return bool(node[mask] >> place & 1)

    index: list[Any] = []
    turned: list[int] = []  # axes, which PyTorch slices forwards alone
    axis, added = 0, sum(masked("new_axis_mask", place) for place in range(len(begin)))
    for place, (b, e, step) in enumerate(zip(begin, end, strides, strict=True)):
        if masked("ellipsis_mask", place):
            missing = x.dim() - (len(begin) - 1 - added)
            require(missing > 0, "its ellipsis stands for no axis, and in LiteRT for one", "leave the ellipsis out")
            index.append(Ellipsis)
            axis += missing
        elif masked("new_axis_mask", place):
            index.append(None)
        elif masked("shrink_axis_mask", place):
            index.append(b)
            axis += 1
        else:
            require(step != 0, "it has the stride 0")
            size = x.shape[axis]
            start = None if masked("begin_mask", place) else b
            stop = None if masked("end_mask", place) else e
            if node["offset"]:  # the end counts from the start, and no mask is for it
                first = slice(start, None, step).indices(size)[0]
                require(-(step < 0) <= first + e <= size, f"its end {e} behind {first} is beyond the {size} elements")
                stop = first + e if first + e >= 0 else None
            first, last, step = slice(start, stop, step).indices(size)
            if step < 0:
                turned.append(axis)
                first, last, step = size - 1 - first, size - 1 - last, -step
            index.append(slice(first, max(first, last), step))
            axis += 1
    return (x.flip(turned) if turned else x)[tuple(index)]


@ROWS.row("PAD", "PADV2", numbers=(1, 2))
def pad(node: FileNode, x: Tensor, padding: list[list[int]], value: float | list[float] = 0.0) -> Tensor:
    value = value[0] if isinstance(value, list) else value
    return F.pad(x, [n for pair in reversed(padding) for n in pair], value=value)


@ROWS.row("MIRROR_PAD", numbers=(1,))
def mirror_pad(node: FileNode, x: Tensor, padding: list[list[int]]) -> Tensor:
    border = 1 if node["mode"] == 0 else 0  # REFLECT does not repeat the border
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        parts = [x.narrow(axis, border, before).flip(axis)] if before else []
        parts.append(x)
        parts += [x.narrow(axis, size - border - after, after).flip(axis)] if after else []
        x = torch.cat(parts, axis) if len(parts) > 1 else x
    return x


@ROWS.row("TILE", numbers=(1,))
def tile(node: FileNode, x: Tensor, times: list[int]) -> Tensor:
    return x.repeat(times)


@ROWS.row("BROADCAST_TO", numbers=(1,))
def broadcast_to(node: FileNode, x: Tensor, sizes: list[int]) -> Tensor:
    return x.expand(sizes)


@ROWS.row("FILL", numbers=(0,))
def fill(node: FileNode, sizes: list[int], value: Tensor) -> Tensor:
    return value.expand(sizes)


@ROWS.row("RANGE", numbers=(0, 1, 2))
def range_(node: FileNode, start: float, end: float, step: float) -> Tensor:
    require(step != 0 and (end - start) / step < 2**24, "it has more numbers than a model uses")
    return torch.arange(start, end, step, dtype=node["dtypes"][0])


@ROWS.row("REVERSE_V2", numbers=(1,))
def reverse(node: FileNode, x: Tensor, axes: list[int]) -> Tensor:
    return x.flip(axes)


@ROWS.row("GATHER")
def gather(node: FileNode, x: Tensor, places: Tensor) -> Tensor:
    batch = node["batch_dims"]
    places = places.long() if places.dtype == torch.int16 else places
    return _gathered(x, places, node["axis"] % x.dim(), batch + places.dim() if batch < 0 else batch)


def _gathered(x: Tensor, places: Tensor, axis: int, batch: int) -> Tensor:
    """The elements at these places of an axis, in each of the first ``batch`` axes by itself."""
    if batch:
        return torch.stack([_gathered(x[i], places[i], axis - 1, batch - 1) for i in range(x.shape[0])])
    if places.dim() == 1:
        return x.index_select(axis, places)
    found = x.index_select(axis, places.reshape(-1))
    return found.reshape([*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]])


@ROWS.row("GATHER_ND")
def gather_nd(node: FileNode, x: Tensor, places: Tensor) -> Tensor:
    if places.dim() == 1:  # PyTorch would read each as a number of Python
        return x[tuple(places.long().unsqueeze(0).unbind(-1))].squeeze(0)
    return x[tuple(places.long().unbind(-1))]


@ROWS.row("SCATTER_ND", numbers=(2,))
def scatter_nd(node: FileNode, places: Tensor, values: Tensor, sizes: list[int]) -> Tensor:
    """Zeros with these values, which add up where places are the same."""
    zeros = torch.zeros(sizes, dtype=values.dtype, device=values.device)
    return zeros.index_put(tuple(places.long().unbind(-1)), values, accumulate=True)


@ROWS.row("DYNAMIC_UPDATE_SLICE", numbers=(2,))
def update_slice(node: FileNode, x: Tensor, part: Tensor, starts: list[int]) -> Tensor:
    """With this part in it, which begins where it fits."""

    def put(x: Tensor, axis: int) -> Tensor:
        if axis == x.dim():
            return part
        first = min(max(starts[axis], 0), x.shape[axis] - part.shape[axis])
        inner = put(x.narrow(axis, first, part.shape[axis]), axis + 1)
        return torch.slice_scatter(x, inner, axis, first, first + part.shape[axis])

    return put(x, 0)


@ROWS.row("REVERSE_SEQUENCE", numbers=(1,))
def reverse_sequence(node: FileNode, x: Tensor, lengths: list[int]) -> Tensor:
    rows, time = torch.split_with_sizes(x, [1] * x.shape[node["batch"]], node["batch"]), node["time"]
    return torch.cat(
        [
            torch.cat([row.narrow(time, 0, n).flip(time), row.narrow(time, n, row.shape[time] - n)], time)
            for row, n in zip(rows, lengths, strict=True)
        ],
        node["batch"],
    )


@ROWS.row("WHERE")
def where(node: FileNode, x: Tensor) -> Tensor:
    require(not x.is_meta, "how many results it has depends on numbers that are computed while the model runs", CUT)
    return x.nonzero()


@ROWS.row("EMBEDDING_LOOKUP")
def embedding_lookup(node: FileNode, places: Tensor, table: Tensor) -> Tensor:
    return table.index_select(0, places)


@ROWS.row("ONE_HOT", numbers=(1,))
def one_hot(node: FileNode, places: Tensor, depth: int, on: Tensor, off: Tensor) -> Tensor:
    axis = node["axis"] if node["axis"] >= 0 else places.dim()
    sizes = [1] * (places.dim() + 1)
    sizes[axis] = depth
    steps = torch.arange(depth, dtype=places.dtype, device=places.device).reshape(sizes)
    return torch.where(places.unsqueeze(axis) == steps, on, off)


@ROWS.row("DEPTH_TO_SPACE")
def depth_to_space(node: FileNode, x: Tensor) -> Tensor:
    n, height, width, channels = x.shape
    b = node["block"]
    parts = x.reshape(n, height, width, b, b, channels // (b * b)).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(n, height * b, width * b, channels // (b * b))


@ROWS.row("SPACE_TO_DEPTH")
def space_to_depth(node: FileNode, x: Tensor) -> Tensor:
    n, height, width, channels = x.shape
    b = node["block"]
    parts = x.reshape(n, height // b, b, width // b, b, channels).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(n, height // b, width // b, channels * b * b)


@ROWS.row("SPACE_TO_BATCH_ND", numbers=(1, 2))
def space_to_batch(node: FileNode, x: Tensor, block: list[int], padding: list[list[int]]) -> Tensor:
    around = [n for pair in reversed(padding) for n in pair]
    x = F.pad(x, [0, 0] * (x.dim() - 1 - len(block)) + around)
    inner = [part for size, b in zip(x.shape[1:], block, strict=False) for part in (size // b, b)]
    rest, count = x.shape[1 + len(block) :], len(block)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2)]
    parts = x.reshape(x.shape[0], *inner, *rest).permute(*order, *range(2 * count + 1, 2 * count + 1 + len(rest)))
    return parts.reshape(x.shape[0] * math.prod(block), *inner[::2], *rest)


@ROWS.row("BATCH_TO_SPACE_ND", numbers=(1, 2))
def batch_to_space(node: FileNode, x: Tensor, block: list[int], crops: list[list[int]]) -> Tensor:
    count, rest = len(block), x.shape[1 + len(block) :]
    sizes, batch = x.shape[1 : 1 + count], x.shape[0] // math.prod(block)
    order = [count, *[axis for i in range(count) for axis in (count + 1 + i, i)]]
    parts = x.reshape(*block, batch, *sizes, *rest).permute(*order, *range(2 * count + 1, 2 * count + 1 + len(rest)))
    x = parts.reshape(batch, *(size * b for size, b in zip(sizes, block, strict=True)), *rest)
    for axis, (before, after) in enumerate(crops, 1):
        x = x.narrow(axis, before, x.shape[axis] - before - after)
    return x


@ROWS.row("RESIZE_BILINEAR", numbers=(1,))
def resize_bilinear(node: FileNode, x: Tensor, size: list[int]) -> Tensor:
    if list(x.shape[1:3]) == size:
        return x
    if node["align_corners"] or node["half_pixel_centers"]:
        y = F.interpolate(channels_first(x), size, mode="bilinear", align_corners=node["align_corners"])
        return channels_last(y)
    return channels_last(resized_from_corner(channels_first(x), size))


def _nearest(node: FileNode, old: int, new: int) -> list[int]:
    """The element of an axis at each place of the result, in LiteRT's float32."""
    corners = node["align_corners"] and new > 1
    step = np.float32(old - 1) / np.float32(new - 1) if corners else np.float32(old) / np.float32(new)
    middle = np.float32(0.5 if node["half_pixel_centers"] else 0.0)
    places = (np.arange(new, dtype=np.float32) + middle) * step
    chosen: list[int] = (np.floor(places + np.float32(0.5)) if corners else np.floor(places)).astype(int).tolist()
    return [min(max(place, 0), old - 1) for place in chosen]


@ROWS.row("RESIZE_NEAREST_NEIGHBOR", numbers=(1,))
def resize_nearest(node: FileNode, x: Tensor, size: list[int]) -> Tensor:
    for axis, new in ((1, size[0]), (2, size[1])):
        old = x.shape[axis]
        places = _nearest(node, old, new)
        if new % old == 0 and places == [place // (new // old) for place in range(new)]:
            continue  # as PyTorch has it
        x = x.index_select(axis, torch.tensor(places))
    if list(x.shape[1:3]) == size:
        return x
    return channels_last(F.interpolate(channels_first(x), size, mode="nearest"))
