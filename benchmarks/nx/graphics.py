"""Networks of neural graphics: two of ng-model-gym, which is imported where it is installed, and four of our own."""

from __future__ import annotations

import itertools

import torch
from torch import nn
from torch.nn.functional import interpolate

from benchmarks.real.files import package_module

_PACKAGE = "ng_model_gym"


def _conv(channels: int, into: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, into, kernel, stride, kernel // 2), nn.ReLU())


class UNet540(nn.Module):
    """Three scales down and up, bilinear; the picture of ``in_channels`` planes becomes 16 in 0 to 1."""

    def __init__(self, in_channels: int = 12) -> None:
        super().__init__()
        widths = (32, 48, 64, 96)
        self.first = _conv(in_channels, widths[0])
        self.down = nn.ModuleList(_conv(a, b, stride=2) for a, b in itertools.pairwise(widths))
        self.up = nn.ModuleList(_conv(b + a, a) for a, b in zip(widths[-2::-1], widths[:0:-1], strict=True))
        self.last = nn.Conv2d(widths[0], 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        skips = []
        for layer in self.down:
            skips.append(x)
            x = layer(x)
        for layer in self.up:
            skip = skips.pop()
            x = interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = layer(torch.cat([x, skip], 1))
        return torch.sigmoid(self.last(x))


class Sr360(nn.Module):
    """Super-resolution by 2: residual convolutions at the size of the input, then a pixel shuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, 48, 3, 1, 1)
        self.body = nn.ModuleList(_conv(48, 48) for _ in range(6))
        self.tail = nn.Conv2d(48, 12, 3, 1, 1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.head(x)
        for layer in self.body:
            x = x + layer(x)
        return self.shuffle(self.tail(x))


class FrameInterpolation(nn.Module):
    """Two frames to flows in both directions, a mask and a residual: coarse to fine, each scale refines the one before.

    Warping by the flows is a compute shader behind it. Frames have 3 planes each, values 0 to 1.
    """

    def __init__(self) -> None:
        super().__init__()
        widths = (24, 48, 72)
        self.down = nn.ModuleList(_conv(a, b, stride=2) for a, b in zip((6, *widths), widths, strict=False))
        self.body = nn.ModuleList(nn.Sequential(_conv(c, c), _conv(c, c)) for c in widths)
        self.flows = nn.ModuleList(nn.Conv2d(c, 5, 3, 1, 1) for c in widths)
        self.up = nn.ModuleList(
            nn.Sequential(nn.ConvTranspose2d(b + 5, a, 4, 2, 1), nn.PReLU(a)) for a, b in itertools.pairwise(widths)
        )
        self.full = nn.ConvTranspose2d(widths[0] + 5, 8, 4, 2, 1)

    def forward(self, before: torch.Tensor, after: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([before, after], 1)
        scales = []
        for down, body in zip(self.down, self.body, strict=True):
            x = down(x)
            x = x + body(x)
            scales.append(x)
        for up, flow, skip in zip(reversed(self.up), reversed(self.flows), scales[-2::-1], strict=False):
            x = up(torch.cat([x, flow(x)], 1)) + skip
        made = self.full(torch.cat([x, self.flows[0](x)], 1))
        return made[:, :4], torch.sigmoid(made[:, 4:])


class Denoiser(nn.Module):
    """Path-traced light, albedo, normals and depth to kernels of 3x3 for each pixel: a U-Net with pooling, and softmax.

    Filtering by the kernels is a compute shader behind it.
    """

    def __init__(self) -> None:
        super().__init__()
        widths = (24, 32, 48, 64)
        self.enter = nn.ModuleList(
            nn.Sequential(_conv(a, b), _conv(b, b)) for a, b in zip((10, *widths), widths, strict=False)
        )
        self.pool = nn.MaxPool2d(2)
        self.leave = nn.ModuleList(nn.Sequential(_conv(a + b, a), _conv(a, a)) for a, b in itertools.pairwise(widths))
        self.kernels = nn.Conv2d(widths[0], 9, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for level, layer in enumerate(self.enter):
            x = layer(self.pool(x) if level else x)
            skips.append(x)
        skips.pop()
        for layer in reversed(self.leave):
            x = layer(torch.cat([interpolate(x, scale_factor=2.0, mode="nearest"), skips.pop()], 1))
        return torch.softmax(self.kernels(x), 1)


def nss() -> nn.Module:
    """The autoencoder of Arm's neural super sampling, version 1, with random weights.

    Raises:
        FileNotFoundError: ng-model-gym is not installed.
    """
    return _of_gym("usecases.nss.model.model_blocks_v1", "AutoEncoderV1")


def nfru() -> nn.Module:
    """The autoencoder of Arm's neural frame rate upsampling, version 1, with random weights.

    Raises:
        FileNotFoundError: ng-model-gym is not installed.
    """
    return _of_gym("usecases.nfru.model.nfru_v1_nn", "NFRUAutoEncoder")


def _of_gym(module: str, name: str) -> nn.Module:
    package_module(f"{_PACKAGE}.core.model.layers.conv_block")  # which that module imports
    made: nn.Module = getattr(package_module(f"{_PACKAGE}.{module}"), name)()
    return made
