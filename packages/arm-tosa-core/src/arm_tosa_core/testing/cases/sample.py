"""Cases of the rules in ``rules/sample.py``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from ..case import OpCase, refused, row, uniform

_IMAGES = (2, 3, 5, 6)
_INPUTS = [_IMAGES, uniform((2, 3, 4, 2), -1.6, 1.6)]


#: An image of one row, and one that positions leave far behind.
_EDGES = {
    "row": [(2, 3, 1, 6), uniform((2, 3, 4, 2), -1.6, 1.6)],
    "far": [(1, 2, 48, 64), uniform((1, 8, 9, 2), -6, 6)],
}


def _case(mode: str, padding: str, align_corners: bool, about: str = "", inputs: Sequence[Any] = _INPUTS) -> OpCase:
    name = f"grid_sampler/{about}{mode}, {padding}" + (", align_corners" if align_corners else "")

    def sampled(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode, padding, align_corners)

    return row(name, sampled, inputs)


class _At(torch.nn.Module):
    """Samples at constant positions, for all images the same ones, or for each of them others."""

    def __init__(self, mode: str, padding: str, align_corners: bool, images: int = 1) -> None:
        super().__init__()
        self.how = mode, padding, align_corners
        self.grid = torch.nn.Buffer(torch.rand(images, 3, 4, 2) * 3.2 - 1.6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, self.grid.expand(x.shape[0], -1, -1, -1), *self.how)


CASES: list[OpCase] = [
    *(
        _case(mode, padding, align_corners)
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for align_corners in (False, True)
    ),
    *(
        _case("bilinear", padding, align_corners, f"{about}, ", inputs)
        for about, inputs in _EDGES.items()
        for padding in ("zeros", "border", "reflection")
        for align_corners in (False, True)
    ),
    *(
        OpCase(
            f"grid_sampler/constant, {mode}, {padding}" + (", align_corners" if align_corners else ""),
            partial(_At, mode, padding, align_corners),
            [_IMAGES],
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for align_corners in (False, True)
    ),
    OpCase("grid_sampler/constant, of each image", partial(_At, "bilinear", "zeros", False, 2), [_IMAGES]),
    row(
        "grid_sampler/bicubic",
        lambda x, grid: F.grid_sample(x, grid, mode="bicubic", align_corners=False),
        _INPUTS,
        refused("samples bicubically"),
    ),
    row(
        "grid_sampler/volume",
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        [(1, 2, 3, 4, 5), uniform((1, 2, 3, 2, 3), -1, 1)],
        refused("samples a volume; TOSA gathers from images"),
    ),
    row(
        "grid_sampler/affine_grid",
        lambda x, t: F.grid_sample(x, F.affine_grid(t, [2, 3, 3, 4], align_corners=True), align_corners=True),
        [(2, 3, 5, 6), uniform((2, 2, 3), -0.6, 0.6)],
    ),
]
