"""Demosaicnet: a picture of three colours out of what a camera's sensor sees, which is one colour at each pixel."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import agreement, column
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.pictures import crops, tensor

_CALIBRATION = ["chelsea", "coffee", "lion", "china"]
_HELD_OUT = ["astronaut", "zidane", "quokka", "groot", "tower", "bus"]
_SIZE, _WIDTH, _DEPTH = 128, 64, 15


class Bayer(nn.Module):
    """The package's best network; names and shapes are those of its weights. Without padding: the edges fall away."""

    def __init__(self) -> None:
        super().__init__()
        layers: dict[str, nn.Module] = {"pack_mosaic": nn.Conv2d(3, 4, 2, 2)}
        for i in range(1, _DEPTH + 1):
            layers[f"conv{i}"] = nn.Conv2d(4 if i == 1 else _WIDTH, _WIDTH * (2 if i == _DEPTH else 1), 3)
            layers[f"relu{i}"] = nn.ReLU()
        self.main_processor = nn.Sequential()
        for name, layer in layers.items():
            self.main_processor.add_module(name, layer)
        self.residual_predictor = nn.Conv2d(_WIDTH, 12, 1)
        self.upsampler = nn.ConvTranspose2d(12, 3, 2, 2, groups=3)
        self.fullres_processor = nn.Sequential()
        for name, layer in (
            ("post_conv", nn.Conv2d(6, _WIDTH, 3)), ("post_relu", nn.ReLU()), ("output", nn.Conv2d(_WIDTH, 3, 1))
        ):  # fmt: skip
            self.fullres_processor.add_module(name, layer)

    def forward(self, mosaic: torch.Tensor) -> torch.Tensor:
        filters, masks = self.main_processor(mosaic).split(_WIDTH, 1)
        finer = self.upsampler(self.residual_predictor(filters * masks))
        edge = 2 * _DEPTH
        return self.fullres_processor(torch.cat([mosaic[:, :, edge:-edge, edge:-edge], finer], 1))


def make() -> Network:
    module = Bayer()
    module.load_state_dict(
        torch.load(package_file("demosaicnet", "data/bayer.pth"), map_location="cpu", weights_only=True)
    )
    sets = [[(_mosaic(tensor(crop, 0, 255)),) for crop in crops(names, 4, seed, _SIZE)]
            for names, seed in ((_CALIBRATION, 1), (_HELD_OUT, 2))]  # fmt: skip
    return Network(module.eval(), *sets, _colours)


def _mosaic(picture: torch.Tensor) -> torch.Tensor:
    """Green and red in even rows, blue and green in odd ones; what a pixel does not see is 0."""
    seen = torch.zeros_like(picture)
    for colour, row, first in ((1, 0, 0), (0, 0, 1), (2, 1, 0), (1, 1, 1)):
        seen[:, colour, row::2, first::2] = picture[:, colour, row::2, first::2]
    return seen


def _colours(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Which colours are within 2 of 255."""
    off = (column(exact) - column(other)).abs() * 255
    return {**agreement(torch.ones_like(off), (off <= 2.5).float()), "off": round(float(off.mean()), 3)}


ORIGIN = Origin(
    make,
    task="colours out of a camera's mosaic, 128x128",
    package="demosaicnet",
    license="MIT",
    data="16 / 24 crops of 4 / 6 pictures",
    decision="a colour of a pixel within 2 of 255",
)
