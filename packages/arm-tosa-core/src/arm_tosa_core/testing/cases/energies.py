"""Cases of functions that are steep near 0, of sums of squares from very small ones to large ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ..case import OpCase, row


def _of_all_sizes(count: int, least: float, most: float = 14.0) -> Callable[[torch.Generator], torch.Tensor]:
    """[1, count, 40]: at each of 40 places numbers of one size, from the least to the most."""

    def made(g: torch.Generator) -> torch.Tensor:
        sizes = torch.linspace(math.log(least), math.log(most), 40).exp()
        signs = (torch.rand(1, count, 40, generator=g) - 0.5).sign()
        return sizes * signs * (0.5 + torch.rand(1, count, 40, generator=g))

    return made


def _variance(x: torch.Tensor) -> torch.Tensor:
    """As some write it: of two means."""
    mean = x.mean(1, keepdim=True)
    return ((x * x).mean(1, keepdim=True) - mean * mean).clamp(min=0)


_FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rsqrt/mean of squares": lambda x: torch.rsqrt((x * x).mean(1) + 1e-6),
    "log/mean of squares": lambda x: ((x * x).mean(1) + 1e-6).log(),
    "reciprocal/mean of squares": lambda x: (x * x).mean(1).reciprocal(),
    "reciprocal/root of mean of squares": lambda x: 1 / (x * x).mean(1).sqrt(),
    "sqrt/clamped mean of squares": lambda x: (x * x).mean(1).clamp(0.01, 30.0).sqrt(),
    "sqrt/variance of two means": lambda x: _variance(x).sqrt(),
    "sqrt/transposed variance of two means": lambda x: _variance(x).transpose(1, 2).sqrt(),
}

CASES: list[OpCase] = [
    row(
        "sqrt/sum of two squares",
        lambda x, y: (x**2 + y**2).sqrt(),
        [_of_all_sizes(2, 1e-3), _of_all_sizes(2, 1e-3)],
        coarse_int16=3,
    ),
    *(row(name, function, [_of_all_sizes(8, 0.1)], coarse_int16=3) for name, function in _FUNCTIONS.items()),
]
