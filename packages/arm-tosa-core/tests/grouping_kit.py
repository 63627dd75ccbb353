"""Three small networks in which layers gain together: a spectrum, a gated residual network, and one that normalizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Spectrum(nn.Module):
    """The energy of a transform, and a classifier of it: squares need both ends of a chain in 16 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.transform = nn.Conv1d(1, 8, 8, stride=4, bias=False)
        self.first, self.second, self.head = nn.Conv1d(4, 8, 3), nn.Conv1d(8, 4, 3), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.transform(x)
        energy = (x[:, :4] ** 2 + x[:, 4:] ** 2).sqrt()
        x = torch.tanh(self.second(torch.relu(self.first(energy))))
        return torch.sigmoid(self.head(x.mean(-1)))


class Gated(nn.Module):
    """A residual stream with gates, and two outputs of which the second is small."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.gate, self.value = nn.Linear(8, 12), nn.Linear(12, 12), nn.Linear(12, 12)
        self.leave, self.aside = nn.Linear(12, 4), nn.Linear(12, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.tanh(self.enter(x))
        x = x + torch.sigmoid(self.gate(x)) * self.value(x)
        return self.leave(x), 0.01 * self.aside(torch.relu(x))


class Normalized(nn.Module):
    """Features divided by their own size: few numbers decide over all."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(8, 12), nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.hardswish(self.enter(x))
        size = ((x * x).mean(-1, keepdim=True) + 0.01).rsqrt()
        x = x * size
        return torch.tanh(self.leave(torch.exp(x) - torch.relu(x)))


def _uneven(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    """Numbers of very different size from sample to sample, as of sounds."""
    return lambda g: torch.randn(*shape, generator=g) * 10 ** (torch.rand(1, generator=g) - 1)


#: The network, and what draws an input.
NETWORKS: dict[str, tuple[type[nn.Module], Callable[[torch.Generator], torch.Tensor]]] = {
    "spectrum": (Spectrum, _uneven(1, 1, 64)),
    "gated": (Gated, _uneven(4, 8)),
    "normalized": (Normalized, _uneven(4, 8)),
}


def program_and_data(name: str) -> tuple[torch.export.ExportedProgram, list[list[Any]]]:
    """The float program, and calls to calibrate and to judge with."""
    network, draw = NETWORKS[name]
    torch.manual_seed(0)
    module = network().eval()
    g = torch.Generator().manual_seed(1)
    data: list[list[Any]] = [[((draw(g),), {}) for _ in range(count)] for count in (16, 12)]
    return torch.export.export(module, data[0][0][0]), data
