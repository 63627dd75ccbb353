"""Equal MobileNetV2 blocks in a row, to see how a figure grows with depth."""

from __future__ import annotations

import torch
from torch import nn

from .mobilenet_v2 import Bottleneck
from .realistic import image

_CHANNELS = 32


def build(blocks: int) -> nn.Module:
    return nn.Sequential(*(Bottleneck(_CHANNELS, _CHANNELS, stride=1, expansion=6) for _ in range(blocks)))


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, _CHANNELS, 14)
