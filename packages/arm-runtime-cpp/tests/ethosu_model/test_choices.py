"""What the estimate may choose, wherever it is possible, on the functional model: the results that TOSA gives."""

from __future__ import annotations

from pathlib import Path

import graphs
import numpy as np
import pytest
from graphs import I8, I16, Make, Maker
from model_library import run

from arm_ethosu.accelerators import ACCELERATORS, DEFAULTS
from arm_ethosu.rewrites import catalogue, rewrites_for
from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import verify

CHOICES = {row.rewrite.name: row.rewrite for row in catalogue.ROWS if isinstance(row.rewrite, Choice)}


def _folded(
    kernel: int, width: int, stride: tuple[int, int], pad: tuple[int, int], dtype: DType = I8, batch: int = 1
) -> Make:
    """A convolution over 3 channels of ``batch`` images of 15 rows; ``pad`` is left and right."""
    above = -(15 - kernel) % stride[0]

    def make(m: Maker) -> Tensor:
        scale = 5e-3 if dtype is I8 else 2e-3
        x, zero = m.input(dtype, batch, 15, width, 3), -4 if dtype is I8 else 0
        return m.conv(x, (kernel, kernel), 18, zero=zero, stride=stride, pad=(above, 0, *pad), scale=scale)

    return make


def _cut(m: Maker) -> Tensor:
    x = m.op("TRANSPOSE", m.input(I8, 1, 3, 24, 24), perms=[0, 2, 3, 1])
    part = m.op("SLICE", x, m.graph.shape((0, 2, 2, 0)), m.graph.shape((1, 21, 21, 3)))
    return m.conv(part, (3, 3), 18, stride=(2, 2), scale=5e-3)


def _chain(dtype: DType, height: int, width: int) -> Make:
    """What networks for sound and sensors have: padding, convolutions, a sum, pools."""
    kernel = (5, 1) if width == 1 else (5, 2)

    def make(m: Maker) -> Tensor:
        x = m.input(dtype, 1, height, width, 6)
        x = m.op("PAD", x, m.graph.shape((0, 0, 1, 3, 0, 0, 0, 0)), m.const(dtype, [0]))
        x = m.conv(x, kernel, 18, stride=(2, 1), pad=(2, 1, 0, kernel[1] - 1), scale=5e-3)
        y = m.conv(x, (3, 1), 18, op="DEPTHWISE_CONV2D", pad=(1, 1, 0, 0), scale=5e-3)
        x = m.sum("ADD", x, y, 19 if dtype is I8 else 14)
        x = m.pool("MAX_POOL2D", x, (3, 1), (2, 1), (0, -(x.shape[1] - 3) % 2, 0, 0))
        return m.pool("AVG_POOL2D", x, (2, 1), (1, 1), (1, 0, 0, 0))

    return make


def _parts(m: Maker) -> Tensor:
    """Parts of a high image, transposed, reversed and joined."""
    x = m.conv(m.input(I8, 1, 30, 1, 7), (3, 1), 16, op="TRANSPOSE_CONV2D", stride=(2, 1), pad=(0, 1, 0, 0))
    part = m.op("SLICE", x, m.graph.shape((0, 7, 0, 0)), m.graph.shape((1, 20, 1, 16)))
    both = m.op("CONCAT", m.op("REVERSE", x, axis=1), part, axis=1)
    return m.sum("ADD", both, m.random(I8, -128, 128, 1, both.shape[1], 1, 16), 19)


TURNED: dict[str, Make] = {
    "one column": _chain(I8, 40, 1),
    "one column, INT16": _chain(I16, 42, 1),
    "three columns": _chain(I8, 36, 3),
    "parts": _parts,
}
FOLDED: dict[str, Make] = {
    "1x1": _folded(1, 13, (2, 2), (0, 0)),
    "2x2": _folded(2, 12, (2, 2), (0, 0)),
    "3x3": _folded(3, 13, (2, 2), (0, 0)),
    "3x3, padding": _folded(3, 12, (2, 2), (1, 0)),
    "3x3, odd width, padding": _folded(3, 13, (2, 2), (1, 1)),
    "3x3, padding of a pair": _folded(3, 11, (2, 2), (2, 2)),
    "4x4, two images": _folded(4, 14, (2, 2), (1, 1), batch=2),
    "5x5": _folded(5, 16, (1, 2), (2, 1)),
    "6x6, stride 3": _folded(6, 18, (3, 3), (1, 2)),
    "7x7": _folded(7, 18, (2, 2), (3, 2)),
    "7x7, stride 3x2": _folded(7, 17, (3, 2), (3, 3)),
    "3x3, INT16": _folded(3, 13, (2, 2), (1, 1), I16),
    "7x7, INT16, two images": _folded(7, 18, (2, 2), (3, 2), I16, 2),
    "of a part": _cut,
}
ROWS = [
    *(("columns_as_channels", name, make) for name, make in FOLDED.items()),
    *(("turned_images", name, make) for name, make in TURNED.items()),
    ("overlapping_patches_u85", "7x7, stride 4", _folded(7, 17, (4, 4), (3, 3))),
    ("rows_as_channels", "7x7", _folded(7, 12, (2, 1), (3, 2))),
    ("rows_as_channels", "4x4, stride 3, two images", _folded(4, 12, (3, 1), (1, 2), batch=2)),
    ("rows_as_channels", "5x5, INT16", _folded(5, 12, (2, 1), (2, 2), I16)),
]


@pytest.mark.parametrize("accelerator", ["ethos-u55-32", "ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize(("choice", "make"), [pytest.param(c, m, id=f"{c}, {n}") for c, n, m in ROWS])
def test_choice(choice: str, make: Make, accelerator: str, model: Path) -> None:
    graph = graphs.build(make)
    inputs = graphs.inputs(graph)
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), inputs)
    assert [op for op in list(graph.ops) if CHOICES[choice].always.apply(graph, op)]
    run_rewrites(graph, [*REWRITES, *rewrites_for(accelerator)])
    verify(graph, TosaSpecification.create_from_string(DEFAULTS[ACCELERATORS[accelerator]].tosa_spec))
    (result,) = run(model, accelerator, graphs.settled_arrays(graph, accelerator), inputs, threads=2)
    np.testing.assert_array_equal(result, expected.reshape(-1))
    assert len(np.unique(expected)) > 15, "the result says too little"
