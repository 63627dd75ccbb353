"""A graph as the file has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Quantization:
    """How integers stand for real numbers."""

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int
    low: int
    high: int


@dataclass(frozen=True)
class Tensor:
    """A tensor of the file; ``variable``: it stays from call to call."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    quantization: Quantization | None
    constant: torch.Tensor | None
    variable: bool


@dataclass(frozen=True)
class Operator:
    """An operator; its operands and results are places in the list of tensors, -1 where one is left out."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """A graph of the file."""

    tensors: list[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: list[Operator]
