"""Col2Im: an image of the patches that a window had at its places; where they overlap, it has their sum."""

from __future__ import annotations

from itertools import product
from math import prod

import torch
from torch import Tensor
from torch.nn import functional

from ...file_graph import FileNode
from .table import ROWS, listed, require

#: Elements of a window, each of which is a sum of its own.
_LARGEST = 1024


@ROWS.row("Col2Im", numbers=(1, 2))
def col2im(node: FileNode, x: Tensor, image: list[int], block: list[int]) -> Tensor:
    image, block = listed(image), listed(block)
    rank = len(block)
    strides, dilations = (list(node.get(name) or [1] * rank) for name in ("strides", "dilations"))
    pads = list(node.get("pads") or [0] * 2 * rank)
    require(len(image) == len(strides) == len(dilations) == rank == len(pads) / 2, "its sizes do not fit its window")
    require(0 < prod(block) <= _LARGEST and min(strides + dilations) > 0, f"its window is {block}")
    sizes = [size + before + behind for size, before, behind in zip(image, pads[:rank], pads[rank:], strict=True)]
    windows = zip(sizes, block, strides, dilations, strict=True)
    places = [(size - d * (taps - 1) - 1) // step + 1 for size, taps, step, d in windows]
    require(
        x.dim() == 3 and x.shape[2] == prod(places) and x.shape[1] % prod(block) == 0,
        f"its input {list(x.shape)} does not fit {prod(places)} windows of {block}",
    )
    parts = x.reshape([x.shape[0], x.shape[1] // prod(block), *block, *places])
    whole = None
    for tap in product(*map(range, block)):
        around: list[int] = []
        part = parts
        for place in tap:
            part = part.select(2, place)
        for axis, (place, step, dilation) in enumerate(zip(tap, strides, dilations, strict=True)):
            part = _spread(part, axis + 2, step)
            around[:0] = [place * dilation, sizes[axis] - place * dilation - part.shape[axis + 2]]
        placed = functional.pad(part, around)
        whole = placed if whole is None else whole + placed
    assert whole is not None
    for axis, (before, size) in enumerate(zip(pads[:rank], image, strict=True)):
        whole = whole.narrow(axis + 2, before, size)
    return whole


def _spread(x: Tensor, axis: int, step: int) -> Tensor:
    """With zeros between the elements of an axis."""
    if step == 1:
        return x
    count = x.shape[axis]
    apart = torch.stack([x, *[torch.zeros_like(x)] * (step - 1)], axis + 1).flatten(axis, axis + 1)
    return apart.narrow(axis, 0, (count - 1) * step + 1)
