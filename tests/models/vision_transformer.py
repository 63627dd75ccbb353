"""DeiT-tiny: a vision transformer of hidden size 192 with 12 layers and 3 heads on 224x224 pictures."""

from __future__ import annotations

import torch
from torch import nn

from .realistic import image, unit_gain


class _Scores(nn.Module):
    """The class scores alone: a delegate returns tensors, not the library's output object."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.model(pixel_values=pixels).logits


def deit_tiny() -> nn.Module:
    from transformers import DeiTConfig, DeiTForImageClassification

    config = DeiTConfig(
        hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768, num_labels=1000
    )
    return unit_gain(_Scores(DeiTForImageClassification(config)))


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, 224)
