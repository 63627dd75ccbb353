"""Convolutions that read more than one picture, beside the TOSA reference model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vgf_files import SPEC

from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

Array = np.ndarray[Any, Any]
SUMS = {DType.INT8: DType.INT32, DType.FP16: DType.FP32, DType.FP32: DType.FP32}
NUMPY = {DType.INT8: np.int8, DType.FP16: np.float16, DType.FP32: np.float32}


def of_parts(dtype: DType, channels: tuple[int, ...], kernel: int, stride: int) -> tuple[Graph, list[Array]]:
    """A convolution of concatenated pictures, and pictures of small integers: sums of them are exact in every type."""
    rng = np.random.default_rng(7)
    graph = Graph()
    shapes = [(1, 9, 7, count) for count in channels]
    pictures = [graph.input(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)]
    whole = graph.append("CONCAT", pictures, {"axis": 3}).output
    made, total = NUMPY[dtype], sum(channels)
    weights = graph.constant(rng.integers(-3, 4, (8, kernel, kernel, total)).astype(made), dtype)
    sums = DType.INT32 if dtype == DType.INT8 else dtype
    bias = graph.constant(rng.integers(-9, 9, (8,)).astype(np.int32 if dtype == DType.INT8 else made), sums)
    zeros = [graph.constant(np.full((1,), number, made), dtype) for number in (5 * (dtype == DType.INT8), 0)]
    before = kernel // 2
    after = [before + (-(9 + 2 * before - kernel) % stride), before + (-(7 + 2 * before - kernel) % stride)]
    attrs = {
        "pad": [before, after[0], before, after[1]], "stride": [stride, stride], "dilation": [1, 1],
        "acc_type": SUMS[dtype], "local_bound": False,
    }  # fmt: skip
    graph.outputs = [graph.append("CONV2D", [whole, weights, bias, *zeros], attrs).output]
    return graph, [rng.integers(-4, 5, shape).astype(made) for shape in shapes]


@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize(
    ("channels", "kernel", "stride", "copies"),
    [
        ((48, 32), 3, 1, 0),
        ((4, 8), 3, 2, 0),
        ((12, 20), 1, 1, 0),
        ((8, 8), 5, 1, 0),
        ((6, 10), 3, 1, 2),  # pieces of words: the whole is made
        ((4, 4, 8), 3, 1, 3),
    ],
)
def test_a_convolution_reads_concatenated_pictures_where_they_lie(
    vgf: Any, dtype: DType, channels: tuple[int, ...], kernel: int, stride: int, copies: int
) -> None:
    graph, inputs = of_parts(dtype, channels, kernel, stride)
    flatbuffer = serialize(graph, SPEC)
    with vgf.Session(convert(flatbuffer), engine="compute") as session:
        (found,) = session.run(inputs)
        assert [step["kernel"] for step in session.plan()].count("copy") == copies
    (wanted,) = reference_model.run(flatbuffer, inputs)
    assert np.array_equal(found, wanted)
