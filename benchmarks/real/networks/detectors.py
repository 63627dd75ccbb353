"""Detectors of objects with one score for each place and class: text in pictures (YOLOX), parts of people (YOLOv8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from benchmarks.real.files import package_file
from benchmarks.real.metrics import agreement, column
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.pictures import crops, page, tensor

_CALIBRATION = ["chelsea", "coffee", "lion", "china", "motorcycle_left", "bus"]
_HELD_OUT = ["astronaut", "zidane", "quokka", "groot", "tower", "rocket", "flower"]
_TEXT_SIZE, _PEOPLE_SIZE = 416, 320


def make_text() -> Network:
    sets = (_pages(6, _CALIBRATION, 1), _pages(8, _HELD_OUT, 2))
    # Blue first, from 0 to 255.
    calibration, held_out = ([(tensor(image, 0, 1).flip(1).contiguous(),) for image in made] for made in sets)
    module = OnnxPart(package_file("ddddocr", "common_det.onnx"), calibration[0])
    return Network(module, calibration, held_out, _text)


def _pages(count: int, pictures: Sequence[str], seed: int) -> list[Image.Image]:
    random = np.random.default_rng(seed)
    drawn = [page(random, None, _TEXT_SIZE) for _ in range(count)]
    return drawn + [page(random, crop, _TEXT_SIZE) for crop in crops(pictures, 2, seed, _TEXT_SIZE)]


def _text(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Behind the box: whether there is something, and what; their product is the score."""
    wanted, got = (column(side)[..., 4] * column(side)[..., 5] > 0.1 for side in (exact, other))
    return {**agreement(wanted, got), "found": int(wanted.sum())}


def make_people() -> Network:
    sets = (crops(_CALIBRATION, 4, 1, _PEOPLE_SIZE), crops(_HELD_OUT, 4, 2, _PEOPLE_SIZE))
    calibration, held_out = ([(tensor(image, 0, 255),) for image in made] for made in sets)
    module = OnnxPart(package_file("nudenet", "320n.onnx"), calibration[0])
    return Network(module, calibration, held_out, _people)


def _people(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """The likeliest class of 18 at each place, where one has a score of 0.2."""
    wanted, got = (_classes(column(side)[:, 4:]) for side in (exact, other))
    return {**agreement(wanted, got), "found": int((wanted >= 0).sum())}


def _classes(scores: torch.Tensor) -> torch.Tensor:
    best, which = scores.max(1)
    return torch.where(best > 0.2, which, -1)


TEXT = Origin(
    make_text,
    task="detection of text, YOLOX, 416x416",
    package="ddddocr",
    license="MIT",
    data="18 / 22 drawn pages and text on pictures",
    decision="text or not, at 3549 places",
)
PEOPLE = Origin(
    make_people,
    task="detection of parts of people, YOLOv8n, 320x320",
    package="nudenet",
    license="MIT by its metadata; its LICENSE file is the AGPL 3",
    data="24 / 28 crops of 6 / 7 pictures",
    decision="which of 18 classes, or none, at 2100 places",
)
