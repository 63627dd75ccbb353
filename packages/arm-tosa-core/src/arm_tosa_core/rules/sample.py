"""Images sampled at positions that the data gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from ..registry import Q, op
from ..values import Value

_BILINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


@op("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default", quant=Q.PIECEWISE)
def grid_sampler(b: Any, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """The rows of the image, a pixel each, are gathered at computed places: one, or the four around a position.

    Args:
        x: [N, C, H, W].
        grid: [N, OH, OW, 2], positions from -1 to 1, x before y.
    """
    b.require(len(x.shape) == 4, "samples a volume; TOSA gathers from images", "sample plane by plane")
    b.require(mode in (_BILINEAR, _NEAREST), "samples bicubically", "use mode='bilinear'")
    sizes = x.shape[2:]
    pixels = b.aten.permute(x, [0, 2, 3, 1])
    grids = [b.aten.select(grid, 3, 1 - axis) for axis in (0, 1)]
    at = [_position(b, g, n, padding, align_corners) for g, n in zip(grids, sizes, strict=True)]
    if mode == _NEAREST:
        places = [b.aten.round(p) for p in at]
        return b.aten.permute(_picked(b, pixels, places, _inside(b, places, sizes, padding)), [0, 3, 1, 2])  # type: ignore[no-any-return]
    first = [b.aten.floor(p) for p in at]
    after = [b.aten.sub(p, c) for p, c in zip(at, first, strict=True)]
    weights = [(b.aten.rsub(w, 1.0), w) for w in after]
    total: Any = None
    for i, j in itertools.product((0, 1), repeat=2):
        places = [b.aten.add(c, 1.0) if k else c for c, k in zip(first, (i, j), strict=True)]
        weight = b.aten.unsqueeze(b.aten.mul(weights[0][i], weights[1][j]), 3)
        part = b.aten.mul(_picked(b, pixels, places, _inside(b, places, sizes, padding)), weight)
        total = part if total is None else b.aten.add(total, part)
    return b.aten.permute(total, [0, 3, 1, 2])  # type: ignore[no-any-return]


def _position(b: Any, grid: Value, size: int, padding: int, align_corners: bool) -> Any:
    """From -1 to 1 to pixels, 0 the middle of the first; what lies beyond the image as ``padding`` says.

    Zeros count as pixels of a border of their own, one wide.
    """
    if b.quantizing:  # fewer steps, each of which is rounded
        factor = (size - 1) / 2 if align_corners else size / 2
        at = b.aten.add(b.aten.mul(grid, factor), (size - 1) / 2)
    elif align_corners:
        at = b.aten.mul(b.aten.add(grid, 1.0), (size - 1) / 2)
    else:
        at = b.aten.mul(b.aten.sub(b.aten.mul(b.aten.add(grid, 1.0), float(size)), 1.0), 0.5)
    if padding == _ZEROS:
        return b.aten.clamp(at, -1.0, float(size))
    if padding == _REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span:  # a triangle, whose period goes there and back
            there = b.aten.sub(b.aten.remainder(b.aten.sub(at, low) if low else at, 2 * span), span)
            at = b.aten.rsub(b.aten.abs(there), span + low)
    return b.aten.clamp(at, 0.0, size - 1.0)


def _inside(b: Any, places: Sequence[Any], sizes: Sequence[int], padding: int) -> Any:
    """Where places lie in the image; None if all do."""
    if padding != _ZEROS:
        return None
    bounds = [b.aten.logical_and(b.aten.ge(p, 0.0), b.aten.le(p, n - 1.0)) for p, n in zip(places, sizes, strict=True)]
    return b.aten.unsqueeze(b.aten.logical_and(*bounds), 3)


def _picked(b: Any, pixels: Value, places: Sequence[Any], inside: Any) -> Any:
    """Pixels [N, H, W, C] at places [N, OH, OW], rounded already; 0 where they are not inside."""
    indices = []
    for place, n in zip(places, pixels.shape[1:], strict=False):
        at = b.aten.clamp(place, 0.0, n - 1.0)
        if b.quantizing:  # whole numbers are rounded to a scale, after which truncation would miss them
            at = b.aten.add(at, 0.5)
        indices.append(b.aten.to(at, torch.int64))
    batch = torch.arange(pixels.shape[0]).reshape(-1, 1, 1)
    picked = b.aten.index(pixels, [b.const(batch), *indices])
    return picked if inside is None else b.aten.where(inside, picked, 0.0)
