"""ResNet-18 and ResNet-50 (He et al. 2015, table 1); the latter strides in its 3x3 convolutions, as is usual since."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, the last four times as wide, beside an identity or a 1x1 projection."""

    def __init__(self, cin: int, width: int, stride: int) -> None:
        super().__init__()
        cout = 4 * width
        narrow = (_conv(cin, width, 1, 1), nn.ReLU(), _conv(width, width, 3, stride), nn.ReLU())
        self.path = nn.Sequential(*narrow, _conv(width, cout, 1, 1))
        self.side = nn.Identity() if cin == cout and stride == 1 else _conv(cin, cout, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.path(x) + self.side(x))


class ResNet(nn.Module):
    """The stem, four groups of blocks, a linear layer.

    Args:
        block: takes channels in, its width and its stride.
        expansion: channels out per width.
        depths: blocks in each group.
    """

    def __init__(
        self, block: Callable[[int, int, int], nn.Module], expansion: int, depths: Sequence[int], classes: int = 1000
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks: list[nn.Module] = []
        cin = 64
        for width, stride, depth in zip((64, 128, 256, 512), (1, 2, 2, 2), depths, strict=True):
            for i in range(depth):
                blocks.append(block(cin, width, stride if i == 0 else 1))
                cin = expansion * width
        self.body = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(cin, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)))


def resnet18() -> nn.Module:
    """11,689,512 parameters."""
    return ResNet(Residual, 1, (2, 2, 2, 2))


def resnet50() -> nn.Module:
    """25,557,032 parameters."""
    return ResNet(Bottleneck, 4, (3, 4, 6, 3))


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, 224)
