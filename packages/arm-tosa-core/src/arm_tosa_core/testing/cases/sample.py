"""Cases of the rules in ``rules/sample.py``."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ..case import QUANTIZED, SCHEMES, OpCase, given, uniform

_INPUTS = [(2, 3, 5, 6), uniform((2, 3, 4, 2), -1.6, 1.6)]


def _case(mode: str, padding: str, align_corners: bool) -> OpCase:
    name = f"grid_sampler/{mode}, {padding}" + (", align_corners" if align_corners else "")

    def sampled(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode, padding, align_corners)

    # reals become indices
    return OpCase(name, given(sampled), _INPUTS, needs_float=QUANTIZED)


CASES: list[OpCase] = [
    *(
        _case(mode, padding, align_corners)
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for align_corners in (False, True)
    ),
    OpCase(
        "grid_sampler/bicubic",
        lambda: lambda x, grid: F.grid_sample(x, grid, mode="bicubic", align_corners=False),
        _INPUTS,
        dict.fromkeys(SCHEMES, "samples bicubically"),
    ),
    OpCase(
        "grid_sampler/volume",
        lambda: lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        [(1, 2, 3, 4, 5), uniform((1, 2, 3, 2, 3), -1, 1)],
        dict.fromkeys(SCHEMES, "samples a volume"),
    ),
    OpCase(
        "grid_sampler/affine_grid",
        lambda: lambda x, t: F.grid_sample(x, F.affine_grid(t, [2, 3, 3, 4], align_corners=True), align_corners=True),
        [(2, 3, 5, 6), uniform((2, 2, 3), -0.6, 0.6)],
        needs_float=QUANTIZED,
    ),
]
