"""A bilinear RESIZE, which Ethos-U55 and U65 have as convolutions, is bit for bit TOSA's there."""

from __future__ import annotations

from pathlib import Path

import graphs
import numpy as np
import pytest
from graphs import I8, I16
from model_library import run

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.ir import DType

_HALF, _CORNERS = True, False


@pytest.mark.parametrize(
    ("dtype", "shape", "size", "half", "accelerator"),
    [
        (I8, (1, 7, 7, 150), (14, 14), _HALF, "ethos-u55-128"),
        (I8, (1, 28, 28, 21), (224, 224), _HALF, "ethos-u55-256"),
        (I8, (1, 10, 10, 16), (25, 25), _HALF, "ethos-u65-256"),
        (I8, (2, 33, 5, 3), (66, 20), _HALF, "ethos-u55-32"),
        (I8, (1, 14, 14, 33), (56, 56), _CORNERS, "ethos-u55-128"),
        (I8, (1, 28, 9, 1), (224, 20), _CORNERS, "ethos-u65-512"),
        (I8, (1, 8, 8, 1), (4, 27), _CORNERS, "ethos-u55-128"),  # a copy that looks like what it copies
        (I8, (1, 1, 1, 40), (28, 28), _HALF, "ethos-u55-64"),
        (I8, (1, 8, 56, 9), (4, 7), _HALF, "ethos-u65-256"),
        (I16, (1, 7, 7, 21), (14, 28), _HALF, "ethos-u55-128"),
        (I16, (1, 5, 4, 16), (40, 32), _HALF, "ethos-u65-512"),
        (I16, (1, 5, 14, 16), (5, 56), _CORNERS, "ethos-u55-256"),
    ],
)
def test_bilinear(
    dtype: DType, shape: tuple[int, ...], size: tuple[int, int], half: bool, accelerator: str, model: Path
) -> None:
    graph = graphs.build(lambda m: m.bilinear(m.input(dtype, *shape), size, half=half))
    inputs = graphs.inputs(graph)
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), inputs)
    legal = legalize(graph, EthosUCompileSpec(accelerator).target())
    made = run(model, accelerator, graphs.settled_arrays(legal, accelerator), inputs)[0]
    np.testing.assert_array_equal(made, expected.reshape(-1))
