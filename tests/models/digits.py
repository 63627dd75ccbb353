"""The network of ``examples/digits_model.py`` with random weights."""

from __future__ import annotations

import torch
from torch import nn

import example_scripts

from .realistic import image


def build() -> nn.Module:
    return example_scripts.load("digits_model").DigitsNet()


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 1, 8)
