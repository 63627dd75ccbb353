"""A small network that tells faces from other pictures of 24x24, trained here in seconds."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import classes
from benchmarks.real.network import Network, Origin
from benchmarks.real.training import train

_CALIBRATION, _TRAINED_ON, _EPOCHS = 40, 100, 40


def _layers(channels_in: int, channels_out: int) -> list[nn.Module]:
    return [nn.Conv2d(channels_in, channels_out, 3, 2, 1, bias=False), nn.BatchNorm2d(channels_out), nn.Hardswish()]


def make() -> Network:
    """The file has 100 faces, then 100 others."""
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    pictures = torch.from_numpy(np.load(package_file("skimage", "data/lfw_subset.npy")))[order, None, :24, :24].float()
    kinds = (order < 100).long()
    torch.manual_seed(0)
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2))
    module = nn.Sequential(*_layers(1, 16), *_layers(16, 32), *_layers(32, 32), *head)
    train(module, pictures[:_TRAINED_ON], kinds[:_TRAINED_ON], batch=20, epochs=_EPOCHS)
    calls = [(picture[None].clone(),) for picture in pictures]
    return Network(module.eval(), calls[:_CALIBRATION], calls[_TRAINED_ON:], classes)


ORIGIN = Origin(
    make,
    task="a face or not, 24x24",
    package="scikit-image",
    license="none stated; pictures of Labeled Faces in the Wild",
    data="40 / 100 pictures",
    decision="a face or not",
)
