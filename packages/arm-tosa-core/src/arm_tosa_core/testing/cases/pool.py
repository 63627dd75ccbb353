"""Cases of the rules in ``rules/pool.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import OpCase, channels_last, refused, row


def _pool(name: str, *args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(nn, name)(*args, **kwargs)


_IMAGE = (2, 3, 9, 11)
_LINE = (2, 3, 11)
_VOLUME = (1, 2, 5, 6, 7)
_MAX = {"return_indices": True}
_USED = refused("its indices are used; TOSA's pools give only the maxima")

CASES: list[OpCase] = [
    OpCase("max_pool1d/plain", _pool("MaxPool1d", 2), [_LINE]),
    OpCase("max_pool1d/all", _pool("MaxPool1d", 3, 2, padding=1, dilation=2, ceil_mode=True), [_LINE]),
    OpCase("max_pool1d/unbatched", _pool("MaxPool1d", 3, 1), [(3, 11)]),
    OpCase("max_pool2d/plain", _pool("MaxPool2d", 2), [(1, 3, 8, 8)]),
    OpCase("max_pool2d/stride leaves rows", _pool("MaxPool2d", 2), [_IMAGE]),
    OpCase("max_pool2d/padding", _pool("MaxPool2d", 3, 2, padding=1), [_IMAGE]),
    OpCase("max_pool2d/rectangle", _pool("MaxPool2d", (3, 2), (1, 2), padding=(1, 0)), [_IMAGE]),
    OpCase("max_pool2d/ceil_mode", _pool("MaxPool2d", 2, ceil_mode=True), [_IMAGE]),
    OpCase("max_pool2d/ceil_mode, padding", _pool("MaxPool2d", 3, 2, padding=1, ceil_mode=True), [(1, 3, 8, 10)]),
    OpCase("max_pool2d/stride beyond kernel, ceil_mode", _pool("MaxPool2d", 2, 3, ceil_mode=True), [(1, 3, 9, 10)]),
    OpCase("max_pool2d/dilation", _pool("MaxPool2d", 3, 1, dilation=2), [_IMAGE]),
    OpCase("max_pool2d/dilation, stride, padding", _pool("MaxPool2d", 3, 2, padding=1, dilation=(2, 3)), [_IMAGE]),
    OpCase("max_pool2d/dilation, ceil_mode", _pool("MaxPool2d", 2, 3, dilation=2, ceil_mode=True), [_IMAGE]),
    OpCase("max_pool2d/unbatched", _pool("MaxPool2d", 3), [(3, 9, 9)]),
    OpCase("max_pool2d/channels_last", _pool("MaxPool2d", 3), [channels_last(_IMAGE)]),
    OpCase(
        "max_pool2d/after a convolution",
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)),
        [_IMAGE],
    ),
    row("max_pool2d_with_indices/values", lambda x: torch.ops.aten.max_pool2d_with_indices(x, [2, 2])[0], [_IMAGE]),
    OpCase("max_pool2d_with_indices/both", _pool("MaxPool2d", 3, 2, padding=1, **_MAX), [_IMAGE], refuses=_USED),
    row("max_pool2d_with_indices/indices", lambda x: F.max_pool2d(x, 2, return_indices=True)[1], [_IMAGE], _USED),
    OpCase("max_pool2d_with_indices/unbatched", _pool("MaxPool2d", 2, **_MAX), [(3, 6, 6)], refuses=_USED),
    OpCase("avg_pool1d/plain", _pool("AvgPool1d", 2), [_LINE]),
    OpCase("avg_pool1d/all", _pool("AvgPool1d", 3, 2, padding=1, ceil_mode=True, count_include_pad=False), [_LINE]),
    OpCase("avg_pool1d/unbatched", _pool("AvgPool1d", 3, 2, padding=1), [(3, 11)]),
    OpCase("avg_pool2d/plain", _pool("AvgPool2d", 2), [(1, 3, 8, 8)]),
    OpCase("avg_pool2d/stride leaves rows", _pool("AvgPool2d", 2), [_IMAGE]),
    OpCase("avg_pool2d/padding counted", _pool("AvgPool2d", 3, 2, padding=1), [_IMAGE]),
    OpCase("avg_pool2d/padding not counted", _pool("AvgPool2d", 3, 2, padding=1, count_include_pad=False), [_IMAGE]),
    OpCase("avg_pool2d/rectangle", _pool("AvgPool2d", (3, 2), (1, 2), padding=(1, 0)), [_IMAGE]),
    OpCase("avg_pool2d/ceil_mode", _pool("AvgPool2d", 2, ceil_mode=True), [_IMAGE]),
    OpCase(
        "avg_pool2d/ceil_mode, padding counted", _pool("AvgPool2d", 3, 2, padding=1, ceil_mode=True), [(1, 3, 8, 10)]
    ),
    OpCase(
        "avg_pool2d/ceil_mode, last window in the padding",
        _pool("AvgPool2d", 2, 3, padding=1, ceil_mode=True),
        [(1, 3, 6, 7)],
    ),
    OpCase("avg_pool2d/ceil_mode, padding not counted", _pool("AvgPool2d", 3, 2, 1, True, False), [(1, 3, 8, 10)]),
    OpCase("avg_pool2d/divisor_override", _pool("AvgPool2d", 2, divisor_override=3), [(1, 3, 8, 8)]),
    OpCase(
        "avg_pool2d/divisor_override, padding, ceil_mode", _pool("AvgPool2d", 3, 2, 1, True, True, 12), [(1, 3, 8, 10)]
    ),
    OpCase("avg_pool2d/unbatched", _pool("AvgPool2d", 3), [(3, 9, 9)]),
    OpCase("avg_pool2d/channels_last", _pool("AvgPool2d", 3), [channels_last(_IMAGE)]),
    OpCase("avg_pool2d/whole image", _pool("AvgPool2d", (9, 11)), [_IMAGE]),
    OpCase("adaptive_avg_pool1d/divides", _pool("AdaptiveAvgPool1d", 3), [(2, 3, 12)]),
    OpCase("adaptive_avg_pool1d/does not", _pool("AdaptiveAvgPool1d", 4), [_LINE]),
    OpCase("adaptive_avg_pool2d/one", _pool("AdaptiveAvgPool2d", 1), [_IMAGE]),
    OpCase("adaptive_avg_pool2d/divides", _pool("AdaptiveAvgPool2d", (4, 3)), [(1, 3, 8, 9)]),
    OpCase("adaptive_avg_pool2d/does not", _pool("AdaptiveAvgPool2d", (4, 5)), [_IMAGE]),
    OpCase("adaptive_avg_pool2d/one axis does not", _pool("AdaptiveAvgPool2d", (3, 5)), [_IMAGE]),
    OpCase("adaptive_avg_pool2d/more than there is", _pool("AdaptiveAvgPool2d", (12, 3)), [(1, 3, 8, 9)]),
    OpCase("adaptive_avg_pool2d/one axis", _pool("AdaptiveAvgPool2d", (None, 5)), [_IMAGE]),
    OpCase("adaptive_avg_pool2d/unbatched", _pool("AdaptiveAvgPool2d", (2, 3)), [(3, 8, 9)]),
    row(
        "adaptive_avg_pool2d/overload of the edge dialect",
        lambda x: torch.ops.aten._adaptive_avg_pool2d(x, [2, 2]),
        [(1, 3, 8, 8)],
    ),
    OpCase("adaptive_max_pool1d/does not divide", _pool("AdaptiveMaxPool1d", 4), [_LINE]),
    OpCase("adaptive_max_pool2d/divides", _pool("AdaptiveMaxPool2d", (4, 3)), [(1, 3, 8, 9)]),
    OpCase("adaptive_max_pool2d/does not", _pool("AdaptiveMaxPool2d", (4, 5)), [_IMAGE]),
    OpCase("adaptive_max_pool2d/unbatched", _pool("AdaptiveMaxPool2d", 2), [(3, 7, 9)]),
    OpCase("max_pool3d/plain", _pool("MaxPool3d", 2), [(2, 2, 4, 4, 6)]),
    OpCase("max_pool3d/all", _pool("MaxPool3d", 3, 2, padding=1, dilation=(1, 2, 1), ceil_mode=True), [_VOLUME]),
    OpCase("max_pool3d/box", _pool("MaxPool3d", (2, 3, 1), (1, 2, 2)), [_VOLUME]),
    OpCase("max_pool3d/unbatched", _pool("MaxPool3d", 2), [_VOLUME[1:]]),
    row("max_pool3d/indices", lambda x: F.max_pool3d(x, 2, return_indices=True)[1], [_VOLUME], _USED),
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
