"""The custom operator that Acme's customers use in their models: ``torch.ops.acme.scaled_add``."""

from __future__ import annotations

import torch


@torch.library.custom_op("acme::scaled_add", mutates_args=())
def scaled_add(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    """``alpha * x + y``, with broadcasting."""
    return alpha * x + y


@scaled_add.register_fake
def _(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    return torch.empty(torch.broadcast_shapes(x.shape, y.shape), dtype=x.dtype)
