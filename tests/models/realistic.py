"""Makes randomly initialised networks behave like trained ones, as far as number formats are concerned."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def settle(
    build: Callable[[], nn.Module], inputs: Callable[[int], tuple[torch.Tensor, ...]], batches: int = 3
) -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    """Builds a network from a fixed seed and gives it the statistics that training would have left.

    Fresh batch norms have mean 0 and variance 1 whatever reaches them, so activations vanish with depth; class
    and position tokens start as zeros, so that a transformer sees no position. Either makes a figure for
    quantization noise meaningless.
    """
    with torch.random.fork_rng():
        torch.manual_seed(20)
        module = build().eval()
    _fill_zero_tokens(module)
    norms = [m for m in module.modules() if isinstance(m, _NORMS)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over the batches below
        norm.train()
    if norms:
        with torch.no_grad():
            for batch in range(batches):
                samples = [inputs(1000 + 4 * batch + i) for i in range(4)]
                module(*(torch.cat(parts) for parts in zip(*samples, strict=True)))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    return module.eval(), inputs


def _fill_zero_tokens(module: nn.Module) -> None:
    generator = torch.Generator().manual_seed(21)
    for parameter in module.parameters():
        if parameter.dim() > 1 and not parameter.detach().any():
            parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator)


def image(seed: int, channels: int, side: int) -> tuple[torch.Tensor]:
    """One picture of normal noise, [1, channels, side, side] float32."""
    return (torch.randn(1, channels, side, side, generator=torch.Generator().manual_seed(seed)),)


def unit_gain(module: nn.Module) -> nn.Module:
    """Draws every linear layer's weights anew with variance 1 / fan-in.

    Transformers start from a standard deviation of 0.02, at which attention is nearly uniform and an output hardly
    depends on the input; trained ones have weights of about this size.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    return module
