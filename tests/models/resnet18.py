"""ResNet-18 (He et al. 2015, table 1), 11,689,512 parameters."""

from __future__ import annotations

import torch
from torch import nn

from .realistic import image


def _conv(cin: int, cout: int, kernel: int, stride: int) -> nn.Sequential:
    conv = nn.Conv2d(cin, cout, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(cout))


class Residual(nn.Module):
    """Two 3x3 convolutions beside an identity, or beside a 1x1 projection where the shape changes."""

    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(_conv(cin, cout, 3, stride), nn.ReLU(), _conv(cout, cout, 3, 1))
        self.side = nn.Identity() if cin == cout and stride == 1 else _conv(cin, cout, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.path(x) + self.side(x))


class ResNet18(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks: list[nn.Module] = []
        cin = 64
        for cout, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Residual(cin, cout, stride), Residual(cout, cout, 1)]
            cin = cout
        self.body = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(512, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)))


def build() -> nn.Module:
    return ResNet18()


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, 224)
