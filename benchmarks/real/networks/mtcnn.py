"""MTCNN's three networks: faces, their boxes and landmarks, on candidates that the float networks propose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import interpolate

from benchmarks.real.files import package_file, package_module
from benchmarks.real.metrics import agreement, column
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.pictures import picture, tensor

_CALIBRATION = ["astronaut", "china", "coffee", "lion"]
_HELD_OUT = ["zidane", "bus", "quokka", "groot", "tower", "chelsea", "motorcycle_left"]
_PNET_STRIDE, _PNET_CELL = 2, 12
_FACE = 0.7


def make(which: str) -> Network:
    """``pnet``, ``rnet`` or ``onet``."""
    nets = {name: _load(name) for name in ("pnet", "rnet", "onet")}
    if which == "pnet":
        return Network(nets[which], _scaled(_CALIBRATION, 8, 1), _scaled(_HELD_OUT, 12, 2), _metric)
    size, second = {"rnet": (24, None), "onet": (48, nets["rnet"])}[which]
    calibration = _candidates(nets["pnet"], second, _CALIBRATION, size, 16)
    held_out = _candidates(nets["pnet"], second, _HELD_OUT, size, 30)
    return Network(nets[which], calibration, held_out, _metric)


def _load(name: str) -> torch.nn.Module:
    unused = {"detect_face": None, "extract_face": None}  # they want torchvision
    networks = package_module("facenet_pytorch.models.mtcnn", facenet_pytorch__models__utils__detect_face=unused)
    module: torch.nn.Module = getattr(networks, name[0].upper() + "Net")(pretrained=False)
    module.load_state_dict(torch.load(package_file("facenet_pytorch", f"data/{name}.pt"), weights_only=True))
    return module.eval()


def _image(name: str) -> torch.Tensor:
    small = picture(name).copy()
    small.thumbnail((640, 640))
    return tensor(small, 127.5, 128)


def _scaled(names: Sequence[str], per: int, seed: int) -> list[Call]:
    """Crops of 48x48 of each picture at the scales at which P-Net sees it."""
    random = np.random.default_rng(seed)
    made: list[Call] = []
    for name in names:
        for _ in range(per):
            image = _image(name)
            scale = float(random.uniform(0.1, 0.5))
            image = interpolate(image, [max(48, int(length * scale)) for length in image.shape[2:]], mode="area")
            y, x = (int(random.integers(0, length - 47)) for length in image.shape[2:])
            made.append((image[:, :, y : y + 48, x : x + 48].contiguous(),))
    return made


def _candidates(
    proposer: torch.nn.Module, ranker: torch.nn.Module | None, names: Sequence[str], size: int, per: int
) -> list[Call]:
    """Crops as MTCNN makes them: P-Net's boxes, of which the ranker, if there is one, takes the likeliest."""
    made: list[Call] = []
    with torch.no_grad():
        for name in names:
            image = _image(name)
            boxes, scores = _proposals(proposer, image)
            boxes = boxes[_apart(boxes, scores)[: per * (3 if ranker else 1)]]
            if ranker:
                likely = torch.cat([ranker(_crop(image, box, 24))[1][:, 1] for box in boxes])
                boxes = boxes[likely.argsort(descending=True)]
            made += [(_crop(image, box, size),) for box in boxes[:per]]
    return made


def _proposals(proposer: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    boxes, scores = [torch.zeros(0, 4)], [torch.zeros(0)]
    scale = 12 / 24
    while min(image.shape[2:]) * scale >= _PNET_CELL:
        small = interpolate(image, [int(length * scale + 1) for length in image.shape[2:]], mode="area")
        shifts, likely = proposer(small)
        y, x = torch.where(likely[0, 1] > 0.6)
        corner = torch.stack([x, y], 1) * _PNET_STRIDE + 1
        box = torch.cat([corner, corner + _PNET_CELL - 1], 1) / scale
        sides = box[:, 2:] - box[:, :2]
        boxes.append(box + shifts[0, :, y, x].T * sides.repeat(1, 2))
        scores.append(likely[0, 1, y, x])
        scale *= 0.709
    return torch.cat(boxes), torch.cat(scores)


def _apart(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """The indices of boxes that overlap no better one by more than 0.6 of both, best first."""
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept: list[int] = []
    gone = torch.zeros(len(boxes), dtype=torch.bool)
    for i in scores.argsort(descending=True).tolist():
        if gone[i]:
            continue
        kept.append(i)
        common = torch.minimum(boxes[i, 2:], boxes[:, 2:]) - torch.maximum(boxes[i, :2], boxes[:, :2])
        shared = common.clamp(min=0).prod(1)
        gone |= shared / (area + area[i] - shared) > 0.6
    return torch.tensor(kept, dtype=torch.int64)


def _crop(image: torch.Tensor, box: torch.Tensor, size: int) -> torch.Tensor:
    """The square around a box, grey where it leaves the image."""
    x0, y0, x1, y1 = box.tolist()
    half = max(x1 - x0, y1 - y0, 8) / 2
    height, width = image.shape[2:]
    left, top = (int((a + b) / 2 - half) for a, b in ((x0, x1), (y0, y1)))
    side = int(2 * half)
    square = torch.zeros(1, 3, side, side)
    ys, xs = slice(max(0, top), min(height, top + side)), slice(max(0, left), min(width, left + side))
    part = image[:, :, ys, xs]
    square[:, :, ys.start - top : ys.start - top + part.shape[2], xs.start - left : xs.start - left + part.shape[3]] = (
        part
    )
    return interpolate(square, (size, size), mode="area")


def _metric(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """The probability is the last output, its second channel that of a face; boxes count where a face is."""
    wanted, got = (column(side, -1)[:, 1] for side in (exact, other))
    faces = wanted > _FACE
    found: dict[str, Any] = {**agreement(faces, got > _FACE), "faces": int(faces.sum())}
    boxes, theirs = (column(side, 0).movedim(1, -1) for side in (exact, other))
    return {**found, "box_off": round(float((boxes - theirs)[faces].abs().mean()), 4)}


def _origin(which: str, task: str, data: str) -> Origin:
    return Origin(partial(make, which), task, "facenet-pytorch", "MIT", data, "a face or not")


PNET = _origin("pnet", "face detection, proposals, 48x48", "32 / 84 crops of 4 / 7 pictures")
RNET = _origin("rnet", "face detection, refinement, 24x24", "candidates of 4 / 7 pictures")
ONET = _origin("onet", "face and landmarks, 48x48", "candidates of 4 / 7 pictures")
