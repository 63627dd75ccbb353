"""Cases of the rules in ``rules/sample.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

from ..case import OpCase, refused, row, uniform

_INPUTS = [(2, 3, 5, 6), uniform((2, 3, 4, 2), -1.6, 1.6)]


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
