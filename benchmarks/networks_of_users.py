"""Kinds of networks that users brought and ``tests/models`` has not, with weights of a fixed seed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.registry import Network


class _SubSpectral(nn.Module):
    """A depthwise convolution and a batch normalization of each of five bands of frequencies.

    As in Chang et al., "SubSpectral Normalization for Neural Audio Data Processing", 2021.
    """

    BANDS = 5

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = nn.Conv2d(channels, channels, (3, 1), padding=(1, 0), groups=channels)
        self.norm = nn.BatchNorm2d(channels * self.BANDS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        batch, channels, height, width = x.shape
        x = x.view(batch, channels * self.BANDS, height // self.BANDS, width)
        return self.norm(x).view(batch, channels, height, width)


class _Broadcast(nn.Module):
    """A block of BC-ResNet: frequencies apart, then time alone, which is added to all frequencies again.

    As in Kim et al., "Broadcasted Residual Learning for Efficient Keyword Spotting", 2021.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.frequencies = _SubSpectral(channels)
        self.time = nn.Sequential(
            nn.Conv2d(channels, channels, (1, 3), padding=(0, 1), groups=channels),
            nn.BatchNorm2d(channels),
            nn.SiLU(),
            nn.Conv2d(channels, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        part = self.frequencies(x)
        return torch.relu(x + part + self.time(part.mean(2, keepdim=True)))


def _bc_resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=(2, 1), padding=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *(_Broadcast(16) for _ in range(4)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 12),
    )


def _espcn() -> nn.Module:
    """Shi et al., "Real-Time Single Image and Video Super-Resolution Using an ESPCN", 2016."""
    return nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2),
        nn.Tanh(),
        nn.Conv2d(64, 32, 3, padding=1),
        nn.Tanh(),
        nn.Conv2d(32, 9, 3, padding=1),
        nn.PixelShuffle(3),
    )


def _sound() -> nn.Module:
    """A classifier of one second of sound, with pools of a long stride."""
    return nn.Sequential(
        nn.Conv1d(1, 8, 9, stride=4, padding=4),
        nn.ReLU(),
        nn.MaxPool1d(4),
        nn.Conv1d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool1d(8),
        nn.Conv1d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


class _Attention(nn.Module):
    """Attention among many tokens."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.outputs = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, size = x.shape
        parts = self.inputs(x).view(batch, tokens, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.outputs(mixed.transpose(1, 2).reshape(batch, tokens, size))


class _Spectrum(nn.Module):
    """The head of a speech synthesizer: frames in, bands by frames out."""

    def __init__(self, size: int, bands: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, bands))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).transpose(1, 2)


def _made(module: Callable[[], nn.Module], *shape: int) -> Callable[[], Network]:
    def make() -> Network:
        torch.manual_seed(0)
        return module().eval(), lambda seed: (torch.rand(1, *shape, generator=torch.Generator().manual_seed(seed)),)

    return make


REG: dict[str, Callable[[], Network]] = {
    "attention": _made(lambda: _Attention(64, 4), 1024, 64),
    "bc_resnet": _made(_bc_resnet, 1, 40, 100),
    "espcn": _made(_espcn, 1, 120, 160),
    "sound": _made(_sound, 1, 16000),
    "spectrum": _made(lambda: _Spectrum(128, 80), 200, 128),
}
