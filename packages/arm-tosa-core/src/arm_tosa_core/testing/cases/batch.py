"""Layers on batches of several images, or on parts of another layer's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..case import OpCase, row


class _OfPart(nn.Module):
    """A layer that reads a part of the result of a 1x1 convolution."""

    def __init__(self, channels: int, part: Callable[[torch.Tensor], torch.Tensor], layer: nn.Module) -> None:
        super().__init__()
        self.first, self.part, self.layer = nn.Conv2d(3, channels, 1), part, layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(self.part(self.first(x)))
        return result


def _conv(*args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: nn.Conv2d(*args, **kwargs)


def _of_part(
    channels: int, part: Callable[[torch.Tensor], torch.Tensor], layer: Callable[[], nn.Module]
) -> Callable[[], nn.Module]:
    return lambda: _OfPart(channels, part, layer())


class _Attention(nn.Module):
    """``nn.MultiheadAttention`` of sequences on themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x, x, x, need_weights=False)[0]
        return result


class _Recurrent(nn.Module):
    """The outputs of a recurrent layer."""

    def __init__(self, kind: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.layer = kind(3, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x)[0]
        return result


def _resize(mode: str, factor: Any) -> Callable[[], Any]:
    return lambda: lambda x: F.interpolate(x, scale_factor=factor, mode=mode)


#: Of each kind of layer: how it is made, and the shape of one example.
_KINDS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(5, 3), (5,)),
    "matmul": (lambda: lambda x: x @ x.transpose(1, 2), (3, 5)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1), (3, 8)),
    "conv1d/depthwise": (lambda: nn.Conv1d(4, 4, 3, padding=2, dilation=2, groups=4), (4, 9)),
    "conv1d/grouped, padding": (lambda: nn.Conv1d(4, 6, 3, padding=1, groups=2), (4, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), (3, 5, 6)),
    "conv2d/strided, dilated": (lambda: nn.Conv2d(3, 4, 2, stride=2, padding=1, dilation=2), (3, 6, 7)),
    "conv2d/one row": (lambda: nn.Conv2d(3, 8, (1, 3)), (3, 1, 9)),
    "conv2d/depthwise": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), (4, 5, 6)),
    "conv2d/depthwise, multiplier": (lambda: nn.Conv2d(3, 6, 3, stride=2, padding=1, groups=3), (3, 6, 5)),
    "conv2d/grouped, padding": (_conv(6, 8, 3, padding=1, groups=2), (6, 5, 5)),
    "conv2d/half of the channels": (_of_part(8, lambda x: x.chunk(2, 1)[1], _conv(4, 4, 3, padding=1)), (3, 5, 6)),
    "conv2d/some of the columns, dilation": (
        _of_part(4, lambda x: x[:, :, :, 2:], _conv(4, 4, 3, padding=3, dilation=3)),
        (3, 9, 11),
    ),
    "conv2d/depthwise, some of the rows": (
        _of_part(4, lambda x: x[:, :, 1:], _conv(4, 4, 3, padding=1, groups=4)),
        (3, 5, 6),
    ),
    "conv3d": (lambda: nn.Conv3d(2, 3, (2, 3, 3), padding=1), (2, 3, 4, 4)),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1), (3, 6)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), (3, 4, 3)),
    "conv_transpose2d/grouped": (lambda: nn.ConvTranspose2d(4, 6, 2, stride=3, groups=2), (4, 3, 4)),
    "conv_transpose3d": (lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), (2, 2, 3, 2)),
    "max_pool1d": (lambda: nn.MaxPool1d(3, 2, padding=1), (3, 9)),
    "max_pool1d/long stride": (lambda: nn.MaxPool1d(7, 5, padding=3), (3, 46)),
    "max_pool2d": (lambda: nn.MaxPool2d(3, 2, padding=1), (3, 6, 7)),
    "max_pool3d": (lambda: nn.MaxPool3d(2), (2, 4, 4, 2)),
    "avg_pool1d": (lambda: nn.AvgPool1d(3, 2, padding=1), (3, 9)),
    "avg_pool1d/long stride": (lambda: nn.AvgPool1d(7, 5), (3, 47)),
    "avg_pool2d": (lambda: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), (3, 7, 6)),
    "avg_pool2d/half of the channels": (
        _of_part(8, lambda x: x[:, 4:], lambda: nn.AvgPool2d(3, 1, padding=1, count_include_pad=False)),
        (3, 5, 6),
    ),
    "avg_pool3d": (lambda: nn.AvgPool3d(2), (2, 4, 4, 2)),
    "adaptive_avg_pool2d": (lambda: nn.AdaptiveAvgPool2d((2, 3)), (3, 5, 6)),
    "batch_norm": (lambda: nn.BatchNorm2d(3), (3, 4, 5)),
    "layer_norm": (lambda: nn.LayerNorm(6), (3, 6)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (4, 3, 4)),
    "instance_norm": (lambda: nn.InstanceNorm2d(3), (3, 4, 5)),
    "rms_norm": (lambda: nn.RMSNorm(6), (3, 6)),
    "softmax": (lambda: nn.Softmax(1), (4, 3, 2)),
    "log_softmax": (lambda: nn.LogSoftmax(1), (5, 3)),
    "attention": (_Attention, (4, 8)),
    "lstm": (lambda: _Recurrent(nn.LSTM), (3, 3)),
    "gru": (lambda: _Recurrent(nn.GRU), (3, 3)),
    "rnn": (lambda: _Recurrent(nn.RNN), (3, 3)),
    "upsample_nearest1d": (_resize("nearest", 2), (3, 5)),
    "upsample_nearest2d": (_resize("nearest", (2, 3)), (3, 4, 3)),
    "upsample_bilinear2d": (_resize("bilinear", 2), (3, 4, 3)),
    "mean": (lambda: lambda x: x.mean((2, 3)), (3, 4, 5)),
    "amax": (lambda: lambda x: x.amax(1), (3, 4, 5)),
    "cumsum": (lambda: lambda x: x.cumsum(1), (4, 3)),
    "cat": (lambda: lambda x: torch.cat([x, x[:, 1:] * 2], 1), (3, 4, 5)),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), (8, 2, 3)),
    "prelu": (lambda: nn.PReLU(3), (3, 4, 2)),
    "pad": (lambda: nn.ReflectionPad2d(1), (3, 3, 4)),
}
#: ``coarse`` of ``OpCase``, where it is not 1.
_COARSE = {"attention": 2, "lstm": 3, "gru": 3, "rnn": 8}

CASES: list[OpCase] = [
    *(
        OpCase(
            f"{name}{', ' if '/' in name else '/'}batch of {batch}",
            make,
            [(batch, *shape)],
            coarse=_COARSE.get(name, 1),
        )
        for name, (make, shape) in _KINDS.items()
        for batch in (1, 2, 3, 4)
    ),
    row("relu/images of a video", lambda x: (x * 2)[:, 1:].squeeze(0).relu(), [(1, 3, 4, 5, 6)]),
    OpCase(
        "max_pool2d/some images of a batch",
        _of_part(4, lambda x: x[1:], lambda: nn.MaxPool2d(3, 2, padding=1)),
        [(3, 3, 5, 7)],
    ),
]
