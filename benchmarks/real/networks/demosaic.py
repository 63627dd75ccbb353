"""Demosaicnet: a picture of three colours out of what a camera's sensor sees, which is one colour at each pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import agreement, column
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.pictures import crops, tensor

_CALIBRATION = ["chelsea", "coffee", "lion", "china"]
_HELD_OUT = ["astronaut", "zidane", "quokka", "groot", "tower", "bus"]
_WIDTH, _DEPTH, _XTRANS_DEPTH = 64, 15, 11
_BAYER = ("gr", "bg")
_XTRANS = ("gbggrg", "rgrbgb", "gbggrg", "grggbg", "bgbrgr", "grggbg")


def _fullres(channels: int) -> nn.Sequential:
    """The layers at the end of both networks."""
    made = nn.Sequential()
    for name, layer in (
        ("post_conv", nn.Conv2d(channels, _WIDTH, 3)), ("post_relu", nn.ReLU()), ("output", nn.Conv2d(_WIDTH, 3, 1))
    ):  # fmt: skip
        made.add_module(name, layer)
    return made


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
        self.fullres_processor = _fullres(6)

    def forward(self, mosaic: torch.Tensor) -> torch.Tensor:
        filters, masks = self.main_processor(mosaic).split(_WIDTH, 1)
        finer = self.upsampler(self.residual_predictor(filters * masks))
        edge = 2 * _DEPTH
        return self.fullres_processor(torch.cat([mosaic[:, :, edge:-edge, edge:-edge], finer], 1))


class XTrans(nn.Module):
    """The network for sensors whose pattern repeats every six pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.main_processor = nn.Sequential()
        for i in range(1, _XTRANS_DEPTH + 1):
            self.main_processor.add_module(f"conv{i}", nn.Conv2d(3 if i == 1 else _WIDTH, _WIDTH, 3))
            self.main_processor.add_module(f"relu{i}", nn.ReLU())
        self.fullres_processor = _fullres(3 + _WIDTH)

    def forward(self, mosaic: torch.Tensor) -> torch.Tensor:
        edge = _XTRANS_DEPTH
        features = self.main_processor(mosaic)
        return self.fullres_processor(torch.cat([mosaic[:, :, edge:-edge, edge:-edge], features], 1))


def _make(kind: type[nn.Module], file: str, pattern: Sequence[str], size: int) -> Network:
    module = kind()
    weights = torch.load(package_file("demosaicnet", f"data/{file}"), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    sets = [[(_mosaic(tensor(crop, 0, 255), pattern),) for crop in crops(names, 4, seed, size)]
            for names, seed in ((_CALIBRATION, 1), (_HELD_OUT, 2))]  # fmt: skip
    return Network(module.eval(), *sets, _colours)


def _mosaic(picture: torch.Tensor, pattern: Sequence[str]) -> torch.Tensor:
    """What the sensor sees: of each pixel the colour in the pattern, and 0 for the others."""
    seen = torch.zeros_like(picture)
    for row, colours in enumerate(pattern):
        for first, colour in enumerate(colours):
            place = slice(row, None, len(pattern)), slice(first, None, len(colours))
            seen[:, "rgb".index(colour), *place] = picture[:, "rgb".index(colour), *place]
    return seen


def _colours(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Which colours are within 2 of 255."""
    off = (column(exact) - column(other)).abs() * 255
    return {**agreement(torch.ones_like(off), (off <= 2.5).float()), "off": round(float(off.mean()), 3)}


def _origin(make: Callable[[], Network], task: str) -> Origin:
    return Origin(
        make,
        task,
        package="demosaicnet",
        license="MIT",
        data="16 / 24 crops of 4 / 6 pictures",
        decision="a colour of a pixel within 2 of 255",
    )


ORIGIN = _origin(partial(_make, Bayer, "bayer.pth", _BAYER, 128), "colours out of a camera's mosaic, 128x128")
XTRANS = _origin(partial(_make, XTrans, "xtrans.pth", _XTRANS, 60), "colours out of an X-Trans mosaic, 60x60")
