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


@pytest.mark.parametrize("output", [DType.INT8, DType.INT16, DType.INT32])
@pytest.mark.parametrize("rounding", ["SINGLE_ROUND", "DOUBLE_ROUND"])
@pytest.mark.parametrize(
    "shifts",
    [(33,), (40,), (52,), (31,), (12,), (2,), (32,), (33, 40, 36, 50, 34), (3, 31, 20, 11, 5), (31, 32, 33, 34, 20)],
)
def test_rescaling_is_exact(vgf: Any, shifts: tuple[int, ...], rounding: str, output: DType) -> None:
    rng = np.random.default_rng(3)
    channels = 5
    shift = np.array(shifts * (channels // len(shifts)))
    # TOSA leaves open what becomes of values beyond these.
    bounds = np.int64(1) << np.minimum(shift, 32) - 1
    values = rng.integers(-bounds, bounds, (512, channels))
    # Half a step from the next integer, of both signs, and what the product's low word decides.
    steps = ((np.arange(256).reshape(-1, 1) - 128) << np.maximum(shift - 31, 0)) // 2
    values[:256] = np.clip(steps, -bounds, bounds - 1)
    inputs = [values.astype(np.int32)]
    multipliers = rng.integers(1 << 30, 1 << 31, channels).astype(np.int32)
    multipliers[0] = 1 << 30
    per_channel = len(shifts) > 1
    graph = Graph()
    x = graph.input("x", inputs[0].shape, DType.INT32)
    count = channels if per_channel else 1
    zero = 7 if output == DType.INT8 else 0
    operands = [
        graph.constant(multipliers[:count], DType.INT32),
        graph.constant(shift[:count].astype(np.int8), DType.INT8),
        graph.constant(np.zeros(1, np.int32), DType.INT32),
        graph.constant(np.full(1, zero, {DType.INT8: np.int8, DType.INT16: np.int16}.get(output, np.int32)), output),
    ]
    attrs = {"rounding_mode": rounding, "per_channel": per_channel, "output_dtype": output}
    attrs |= {"scale32": True, "input_unsigned": False, "output_unsigned": False}
    graph.outputs = [graph.append("RESCALE", [x, *operands], attrs).output]
    flatbuffer = serialize(graph, SPEC)
    (found,) = vgf.run(convert(flatbuffer), inputs)
    (wanted,) = reference_model.run(flatbuffer, inputs)
    assert len(np.unique(found)) > 1
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("channels", [96, 8, 24, 4, 3])
@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("dtype", SUMS)
def test_pictures_are_resized_whatever_their_channels(vgf: Any, dtype: DType, mode: str, channels: int) -> None:
    graph = Graph()
    picture = np.random.default_rng(2).integers(-8, 9, (2, 5, 6, channels)).astype(NUMPY[dtype])
    x = graph.input("x", picture.shape, dtype)
    numbers = [graph.shape(values) for values in ((4, 2, 4, 2), (-1, -1), (1, 1))]
    graph.outputs = [graph.append("RESIZE", [x, *numbers], {"mode": mode}).output]
    flatbuffer = serialize(graph, SPEC)
    (found,) = vgf.run(convert(flatbuffer), [picture])
    (wanted,) = reference_model.run(flatbuffer, [picture])
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(("shape", "perms"), [
    ((2, 12, 4, 10), (0, 2, 3, 1)), ((1, 8, 7, 16), (0, 3, 1, 2)), ((2, 16, 5, 7), (0, 2, 3, 1)),
    ((3, 72, 38), (0, 2, 1)), ((8, 2, 6, 12), (3, 1, 2, 0)),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [*SUMS, DType.INT16])
def test_pictures_are_transposed_and_computed_with_at_once(
    vgf: Any, dtype: DType, shape: tuple[int, ...], perms: tuple[int, ...]
) -> None:
    picture = np.random.default_rng(5).integers(-100, 100, shape).astype(NUMPY.get(dtype, np.int16))
    graph = Graph()
    turned = graph.append("TRANSPOSE", [graph.input("x", shape, dtype)], {"perms": perms}).output
    graph.outputs = [turned, graph.append("CAST", [turned], {"output_dtype": DType.INT32}).output]
    with vgf.Session(convert(serialize(graph, SPEC)), engine="compute") as session:
        found = session.run([picture])
        assert [step["kernel"] for step in session.plan()] == ["transpose"]
    wanted = picture.transpose(perms)
    assert np.array_equal(found[0], wanted)
    assert np.array_equal(found[1], wanted.astype(np.int32))


@pytest.mark.parametrize(("per_channel", "kernels"), [(False, ["transpose"]), (True, ["elementwise", "transpose"])])
def test_what_is_computed_before_a_transpose_is_computed_behind_it(
    vgf: Any, per_channel: bool, kernels: list[str]
) -> None:
    graph = Graph()
    x = graph.input("x", (2, 8, 5, 12), DType.FP32)
    factor = graph.constant(np.full((1, 1, 1, 1), 3, np.float32), DType.FP32)
    product = graph.append("MUL", [x, factor, graph.constant(np.zeros(1, np.int8), DType.INT8)]).output
    value = graph.append("CAST", [product], {"output_dtype": DType.INT32}).output
    count = 12 if per_channel else 1
    operands = [
        graph.constant(np.arange(1 << 30, (1 << 30) + count, dtype=np.int32), DType.INT32),
        graph.constant(np.full(count, 31, np.int8), DType.INT8),
        graph.constant(np.zeros(1, np.int32), DType.INT32),
        graph.constant(np.full(1, 3, np.int8), DType.INT8),
    ]
    attrs = {"rounding_mode": "SINGLE_ROUND", "per_channel": per_channel, "output_dtype": DType.INT8}
    attrs |= {"scale32": True, "input_unsigned": False, "output_unsigned": False}
    scaled = graph.append("RESCALE", [value, *operands], attrs).output
    graph.outputs = [graph.append("TRANSPOSE", [scaled], {"perms": (0, 2, 3, 1)}).output]
    picture = np.random.default_rng(6).integers(-60, 60, x.shape).astype(np.float32)
    flatbuffer = serialize(graph, SPEC)
    with vgf.Session(convert(flatbuffer), engine="compute") as session:
        (found,) = session.run([picture])
        assert [step["kernel"] for step in session.plan()] == kernels
    (wanted,) = reference_model.run(flatbuffer, [picture])
    assert np.array_equal(found, wanted)
