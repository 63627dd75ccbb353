"""Four small networks for the digits of scikit-learn, and their training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

import example_scripts

HELD_OUT = 360  # of 1797 digits


class DepthwiseNet(nn.Module):
    """Depthwise-separable convolutions, as keyword spotters have them. Takes [N, 1, 8, 8], returns [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU()]
        for stride in (2, 1, 1):
            layers += [nn.Conv2d(24, 24, 3, stride, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.ReLU()]
            layers += [nn.Conv2d(24, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(24, 10))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.body(pictures)


class Block(nn.Module):
    """A transformer's encoder block, norms first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(n, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.out(mixed.transpose(1, 2).reshape(n, tokens, width))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Sixteen patches of 2x2, a class token, two blocks. Takes [N, 1, 8, 8], returns [N, 10]."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, 2)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(pictures).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(tokens.shape[0], -1, -1), tokens], 1) + self.positions
        return self.head(self.norm(self.blocks(tokens))[:, 0])


class RowReader(nn.Module):
    """An LSTM that reads a picture row by row. Takes [N, 1, 8, 8], returns [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 32, batch_first=True), nn.Linear(32, 10)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(pictures.squeeze(1))
        return self.head(states[:, -1])


def _cnn() -> nn.Module:
    return example_scripts.load("digits_model").DigitsNet()


#: name: how to make it, and epochs until it is trained.
NETS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "cnn": (_cnn, 20),
    "ds_cnn": (DepthwiseNet, 20),
    "vit": (VisionTransformer, 30),
    "lstm": (RowReader, 30),
}


def digits() -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """(pictures, labels) to train with, and those held out."""
    pictures, labels = example_scripts.load("digits_model").load()
    return (pictures[HELD_OUT:], labels[HELD_OUT:]), (pictures[:HELD_OUT], labels[:HELD_OUT])


def train(model: nn.Module, pictures: torch.Tensor, labels: torch.Tensor, epochs: int) -> nn.Module:
    """Adam with a cosine schedule on batches of 32, which all have that size: exported graphs want one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    generator = torch.Generator().manual_seed(1)
    for _ in range(epochs):
        for batch in torch.randperm(len(labels), generator=generator).split(32)[:-1]:
            loss = nn.functional.cross_entropy(model(pictures[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model


def trained(name: str) -> nn.Module:
    """A network trained from a fixed seed, in eval mode."""
    make, epochs = NETS[name]
    torch.manual_seed(0)
    (pictures, labels), _ = digits()
    return train(make(), pictures, labels, epochs).eval()


def top1(
    run: Callable[[torch.Tensor], torch.Tensor], pictures: torch.Tensor, labels: torch.Tensor, batch: int = 1
) -> float:
    """Percent of pictures, ``batch`` at a time, whose highest score is that of the label."""
    with torch.no_grad():
        scores = torch.cat([run(some) for some in pictures.split(batch)])
    return 100 * float((scores.argmax(1) == labels).float().mean())
