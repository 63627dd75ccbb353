"""MobileNetV2, width 1.0 (Sandler et al. 2018, table 2), 3,504,872 parameters."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

from .realistic import image

# expansion, output channels, blocks, stride of the first block
_TABLE = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def unit(cin: int, cout: int, kernel: int, stride: int = 1, groups: int = 1, clip: bool = True) -> nn.Sequential:
    """Convolution and batch norm, then ReLU6 unless the unit is a linear bottleneck."""
    layers = OrderedDict[str, nn.Module]()
    layers["conv"] = nn.Conv2d(cin, cout, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    layers["norm"] = nn.BatchNorm2d(cout)
    if clip:
        layers["clip"] = nn.ReLU6()
    return nn.Sequential(layers)


class Bottleneck(nn.Module):
    """Widen, filter each channel, narrow; added to its input where the shapes agree."""

    def __init__(self, cin: int, cout: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = expansion * cin
        widen = [] if expansion == 1 else [unit(cin, wide, 1)]
        self.path = nn.Sequential(*widen, unit(wide, wide, 3, stride, groups=wide), unit(wide, cout, 1, clip=False))
        self.shortcut = stride == 1 and cin == cout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.path(x) if self.shortcut else self.path(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        width = 32
        layers: list[nn.Module] = [unit(3, width, 3, stride=2)]
        for expansion, cout, blocks, first_stride in _TABLE:
            for index in range(blocks):
                layers.append(Bottleneck(width, cout, first_stride if index == 0 else 1, expansion))
                width = cout
        layers.append(unit(width, 1280, 1))
        self.body = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def build() -> nn.Module:
    return MobileNetV2()


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, 224)
