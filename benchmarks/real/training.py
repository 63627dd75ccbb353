"""Training of small classifiers in seconds."""

from __future__ import annotations

import torch
from torch import nn


def train(module: nn.Module, inputs: torch.Tensor, kinds: torch.Tensor, *, batch: int, epochs: int) -> None:
    """Trains by cross entropy, from the weights that the module has.

    Args:
        module: from ``inputs`` to [count, classes].
        inputs: [count, ...] float32.
        kinds: the class of each, [count] int64.
        batch: how many go into a step.
        epochs: how often all are seen.
    """
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    for _ in range(epochs):
        for chosen in torch.randperm(len(inputs)).split(batch):
            loss = nn.functional.cross_entropy(module(inputs[chosen]), kinds[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
