"""Text in pictures: PP-OCRv4's detector and reader, and the classifier that tells which way up a line is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from PIL import Image

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above, agreement, classes, column
from benchmarks.real.network import Call, Metric, Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.pictures import crops, page, tensor, text_line

_V4, _V6 = "rapidocr_onnxruntime", "rapidocr"
_PICTURES = (["chelsea", "coffee", "lion"], ["astronaut", "rocket", "tower", "bus", "motorcycle_left", "flower"])
_SCANS = (["text"], ["page"])


def _make(
    file: str, samples: Callable[[int], list[Call]], metric: Metric, output: str | None = None, package: str = _V4
) -> Network:
    calibration, held_out = samples(0), samples(1)
    path = package_file(package, f"models/{file}")
    module = OnnxPart(path, calibration[0], outputs=[output] if output else None)
    return Network(module, calibration, held_out, metric)


def _lines(count: Sequence[int], width: int, which: int, turned: bool = False) -> list[Call]:
    random = np.random.default_rng(10 + which)
    lines = [text_line(random, width) for _ in range(count[which])]
    if turned:
        lines[1::2] = [line.transpose(Image.Transpose.ROTATE_180) for line in lines[1::2]]
    return [(tensor(line),) for line in lines]


def _pages(which: int) -> list[Call]:
    """Pages, text on pictures, and parts of scans, of 320x320."""
    random = np.random.default_rng(20 + which)
    made = [page(random) for _ in range((6, 10)[which])]
    made += [page(random, crop) for crop in crops(_PICTURES[which], 2, 30 + which, 320)]
    made += crops(_SCANS[which], 4, 40 + which, 320)
    return [(tensor(image),) for image in made]


def _letters(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """The likeliest letter at each place of a line, and how many lines are read the same."""
    wanted, got = (column(side).argmax(-1) for side in (exact, other))
    same = [
        torch.equal(*(line[torch.cat([torch.ones(1), line.diff()]) != 0] for line in pair))
        for pair in zip(wanted, got, strict=True)
    ]
    return {**agreement(wanted, got), "lines_same": round(100 * sum(same) / len(same), 1)}


def _origin(
    make: Callable[[], Network], task: str, data: str, decision: str, package: str = "rapidocr-onnxruntime"
) -> Origin:
    return Origin(make, task, package, "Apache-2.0", data, decision)


READER = _origin(
    partial(_make, "ch_PP-OCRv4_rec_infer.onnx", partial(_lines, (24, 48), 320), _letters),
    task="text recognition, lines of 320x48",
    data="24 / 48 drawn lines",
    decision="letter at each of 40 places",
)
DETECTOR = _origin(
    partial(_make, "ch_PP-OCRv4_det_infer.onnx", _pages, partial(above, threshold=0.3)),
    task="text detection, 320x320",
    data="16 / 26 drawn pages, scans, text on pictures",
    decision="pixel in text or not",
)
DIRECTION = _origin(
    partial(_make, "ch_ppocr_mobile_v2.0_cls_infer.onnx", partial(_lines, (24, 120), 192, turned=True), classes),
    task="direction of a line, 192x48",
    data="24 / 120 drawn lines",
    decision="upright or upside down",
)
DETECTOR_V6 = _origin(
    partial(_make, "PP-OCRv6_det_small.onnx", _pages, partial(above, threshold=0.3), package=_V6),
    task="text detection, PP-OCRv6, 320x320",
    data="16 / 26 drawn pages, scans, text on pictures",
    decision="text or not, at each pixel",
    package="rapidocr",
)
