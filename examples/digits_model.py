"""A small network for the 8x8 grey pictures of handwritten digits that scikit-learn ships, and its training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def conv_norm(channels_in: int, channels_out: int, stride: int = 1) -> nn.Sequential:
    """3x3 convolution and batch norm."""
    conv = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(channels_out))


class DigitsNet(nn.Module):
    """Three convolutions, the last one beside a shortcut, a global average and a linear layer.

    Takes [N, 1, 8, 8] float32 and returns [N, 10] scores.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_norm(1, 16), nn.ReLU())
        self.down = nn.Sequential(conv_norm(16, 32, stride=2), nn.ReLU())
        self.residual = conv_norm(32, 32)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        features = self.down(self.stem(pictures))
        features = torch.relu(features + self.residual(features))
        return self.head(features)


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """All 1797 digits in a fixed random order: pictures [1797, 1, 8, 8] in 0..1, and labels [1797]."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    pictures = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    return pictures[order], torch.tensor(digits.target)[order]


def train(
    pictures: torch.Tensor, labels: torch.Tensor, epochs: int, report: Callable[[float], None] = lambda loss: None
) -> DigitsNet:
    """Trains from a fixed seed with Adam on batches of 32; ``report`` is called with the loss after every epoch."""
    torch.manual_seed(0)
    net = DigitsNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        losses = []
        for batch in torch.randperm(len(labels)).split(32):
            loss = nn.functional.cross_entropy(net(pictures[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        report(sum(losses) / len(losses))
    return net.eval()
