"""Layers on batches of several images, or on parts of what another layer made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..case import OpCase


class _OfPart(nn.Module):
    """A layer that reads a part of what a convolution of 1x1 makes."""

    def __init__(self, channels: int, part: Callable[[torch.Tensor], torch.Tensor], layer: nn.Module) -> None:
        super().__init__()
        self.first, self.part, self.layer = nn.Conv2d(3, channels, 1), part, layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.part(self.first(x)))  # type: ignore[no-any-return]


def _conv(*args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: nn.Conv2d(*args, **kwargs)


def _of_part(
    channels: int, part: Callable[[torch.Tensor], torch.Tensor], layer: Callable[[], nn.Module]
) -> Callable[[], nn.Module]:
    return lambda: _OfPart(channels, part, layer())


CASES: list[OpCase] = [
    OpCase("conv1d/grouped, padding, batch 3", lambda: nn.Conv1d(4, 6, 3, padding=1, groups=2), [(3, 4, 9)]),
    OpCase("conv2d/grouped, padding, batch 2", _conv(6, 8, 3, padding=1, groups=2), [(2, 6, 5, 5)]),
    OpCase(
        "conv2d/half of the channels, batch 2",
        _of_part(8, lambda x: x.chunk(2, 1)[1], _conv(4, 4, 3, padding=1)),
        [(2, 3, 5, 6)],
    ),
    OpCase(
        "conv2d/some of the columns, dilation",
        _of_part(4, lambda x: x[:, :, :, 2:], _conv(4, 4, 3, padding=3, dilation=3)),
        [(1, 3, 9, 11)],
    ),
    OpCase(
        "conv2d/depthwise, some of the rows, batch 4",
        _of_part(4, lambda x: x[:, :, 1:], _conv(4, 4, 3, padding=1, groups=4)),
        [(4, 3, 5, 6)],
    ),
    OpCase(
        "relu/images of a video",
        lambda: lambda x: (x * 2)[:, 1:].squeeze(0).relu(),
        [(1, 3, 4, 5, 6)],
    ),
    OpCase(
        "max_pool2d/some images of a batch",
        _of_part(4, lambda x: x[1:], lambda: nn.MaxPool2d(3, 2, padding=1)),
        [(3, 3, 5, 7)],
    ),
    OpCase(
        "avg_pool2d/half of the channels, batch 3",
        _of_part(8, lambda x: x[:, 4:], lambda: nn.AvgPool2d(3, 1, padding=1, count_include_pad=False)),
        [(3, 3, 5, 6)],
    ),
]
