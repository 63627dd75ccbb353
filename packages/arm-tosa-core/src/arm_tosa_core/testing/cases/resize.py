"""Cases of the rules in ``rules/resize.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from ..case import HANDS_ON, OpCase, channels_last


def _to(mode: str, size: Any = None, factor: Any = None, **kwargs: Any) -> Callable[[], Callable[..., torch.Tensor]]:
    return lambda: lambda x: F.interpolate(x, size, factor, mode, **kwargs)


_IMAGE = (2, 3, 5, 4)

CASES: list[OpCase] = [
    OpCase("upsample_nearest1d/twice", _to("nearest", factor=2), [(2, 3, 5)]),
    OpCase("upsample_nearest1d/size", _to("nearest", 8), [(2, 3, 5)]),
    *(OpCase(f"upsample_nearest2d/times {n}", _to("nearest", factor=n), [_IMAGE]) for n in (2, 3, 4)),
    OpCase("upsample_nearest2d/times 2 by 3", _to("nearest", factor=(2, 3)), [_IMAGE]),
    OpCase("upsample_nearest2d/one axis", _to("nearest", factor=(1, 2)), [_IMAGE]),
    OpCase("upsample_nearest2d/size", _to("nearest", (7, 9)), [_IMAGE]),
    OpCase("upsample_nearest2d/smaller", _to("nearest", (2, 3)), [_IMAGE]),
    OpCase("upsample_nearest2d/factor 1.5", _to("nearest", factor=1.5), [_IMAGE]),
    OpCase(
        "upsample_nearest2d/factor 1.5, recomputed", _to("nearest", factor=1.5, recompute_scale_factor=True), [_IMAGE]
    ),
    OpCase("upsample_nearest2d/factor 0.4", _to("nearest", factor=0.4), [(1, 3, 8, 10)]),
    OpCase("upsample_nearest2d/same size", _to("nearest", (5, 4)), [_IMAGE], {"fp32": HANDS_ON}),
    OpCase("upsample_nearest2d/one pixel", _to("nearest", (4, 6)), [(1, 3, 1, 1)]),
    OpCase("upsample_nearest2d/channels_last", _to("nearest", factor=2), [channels_last(_IMAGE)]),
    OpCase("upsample_linear1d/twice", _to("linear", factor=2), [(2, 3, 5)]),
    OpCase("upsample_linear1d/align_corners", _to("linear", 9, align_corners=True), [(2, 3, 5)]),
    *(OpCase(f"upsample_bilinear2d/times {n}", _to("bilinear", factor=n), [_IMAGE]) for n in (2, 3, 4)),
    OpCase("upsample_bilinear2d/times 2 by 3", _to("bilinear", factor=(2, 3)), [_IMAGE]),
    OpCase("upsample_bilinear2d/one axis", _to("bilinear", factor=(1, 2)), [_IMAGE]),
    OpCase("upsample_bilinear2d/size", _to("bilinear", (7, 9)), [_IMAGE]),
    OpCase("upsample_bilinear2d/smaller", _to("bilinear", (2, 3)), [_IMAGE]),
    OpCase("upsample_bilinear2d/factor 1.5", _to("bilinear", factor=1.5), [_IMAGE]),
    OpCase("upsample_bilinear2d/factor 0.5", _to("bilinear", factor=0.5), [(1, 3, 8, 10)]),
    OpCase("upsample_bilinear2d/align_corners", _to("bilinear", (9, 7), align_corners=True), [_IMAGE]),
    OpCase("upsample_bilinear2d/align_corners, smaller", _to("bilinear", (3, 3), align_corners=True), [_IMAGE]),
    OpCase("upsample_bilinear2d/align_corners, one row", _to("bilinear", (1, 7), align_corners=True), [_IMAGE]),
    OpCase("upsample_bilinear2d/align_corners, one pixel", _to("bilinear", (1, 1), align_corners=True), [_IMAGE]),
    OpCase("upsample_bilinear2d/align_corners, factor", _to("bilinear", factor=2, align_corners=True), [_IMAGE]),
    OpCase("upsample_bilinear2d/one pixel", _to("bilinear", (4, 6)), [(1, 3, 1, 1)]),
    OpCase("upsample_bilinear2d/one pixel, align_corners", _to("bilinear", (4, 6), align_corners=True), [(1, 3, 1, 1)]),
    OpCase("upsample_bilinear2d/same size", _to("bilinear", (5, 4)), [_IMAGE], {"fp32": HANDS_ON}),
    OpCase("upsample_bilinear2d/channels_last", _to("bilinear", factor=2), [channels_last(_IMAGE)]),
]
