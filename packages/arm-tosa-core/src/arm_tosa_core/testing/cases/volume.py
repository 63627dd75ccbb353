"""Cases of the rules in ``rules/volume.py``."""

from __future__ import annotations

from torch import nn
from torch.nn import functional as F

from ..case import SCHEMES, OpCase
from .pool import _pool

_VOLUME = (1, 2, 5, 6, 7)
_USED = dict.fromkeys(SCHEMES, "its indices are used")

CASES: list[OpCase] = [
    OpCase("max_pool3d/plain", _pool("MaxPool3d", 2), [(2, 2, 4, 4, 6)]),
    OpCase("max_pool3d/all", _pool("MaxPool3d", 3, 2, padding=1, dilation=(1, 2, 1), ceil_mode=True), [_VOLUME]),
    OpCase("max_pool3d/box", _pool("MaxPool3d", (2, 3, 1), (1, 2, 2)), [_VOLUME]),
    OpCase("max_pool3d/unbatched", _pool("MaxPool3d", 2), [_VOLUME[1:]]),
    OpCase("max_pool3d/indices", lambda: lambda x: F.max_pool3d(x, 2, return_indices=True)[1], [_VOLUME], _USED),
    OpCase("max_pool3d/after a convolution", lambda: nn.Sequential(nn.Conv3d(2, 3, 2), nn.MaxPool3d(2)), [_VOLUME]),
    OpCase("avg_pool3d/plain", _pool("AvgPool3d", 2), [(2, 2, 4, 4, 6)]),
    OpCase("avg_pool3d/all", _pool("AvgPool3d", 3, 2, padding=1, ceil_mode=True), [_VOLUME]),
    OpCase("avg_pool3d/padding not counted", _pool("AvgPool3d", 3, 2, padding=1, count_include_pad=False), [_VOLUME]),
    OpCase("avg_pool3d/divisor_override", _pool("AvgPool3d", 2, 1, padding=1, divisor_override=3), [_VOLUME]),
    OpCase("avg_pool3d/divisor unbatched", _pool("AvgPool3d", (3, 2, 1), 2, divisor_override=5), [_VOLUME[1:]]),
    OpCase("avg_pool3d/unbatched", _pool("AvgPool3d", (1, 2, 3)), [_VOLUME[1:]]),
    OpCase("adaptive_avg_pool3d/one", _pool("AdaptiveAvgPool3d", 1), [_VOLUME]),
    OpCase("adaptive_avg_pool3d/does not divide", _pool("AdaptiveAvgPool3d", (2, 3, 4)), [_VOLUME]),
    OpCase("adaptive_avg_pool3d/one axis", _pool("AdaptiveAvgPool3d", (None, 3, 7)), [_VOLUME]),
    OpCase("adaptive_max_pool3d/divides", _pool("AdaptiveMaxPool3d", (5, 2, 1)), [_VOLUME]),
    OpCase("adaptive_max_pool3d/does not", _pool("AdaptiveMaxPool3d", (2, 3, 4)), [_VOLUME]),
    OpCase("local_response_norm", lambda: nn.LocalResponseNorm(3), [(1, 5, 4, 4)]),
]
