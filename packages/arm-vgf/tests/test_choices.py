"""What the NX estimator may choose changes no number, and is found where it should be."""

from __future__ import annotations

import numpy as np
import pytest

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.bands_of_rows import BANDS_OF_ROWS
from arm_vgf.layout_of_inputs import LAYOUT_OF_INPUT
from arm_vgf.layout_of_outputs import LAYOUT_OF_RESULT
from arm_vgf.moves_by_convolution import CHANNELS_BY_CONVOLUTION
from arm_vgf.pixel_shuffle import PIXEL_SHUFFLE
from arm_vgf.strided_convolutions import OVER_PATCHES

SPEC = VgfCompileSpec().tosa_spec
KINDS = {DType.INT8: np.int8, DType.INT16: np.int16, DType.FP32: np.float32}
INTEGERS = (DType.INT8, DType.INT16)
SAME = None
Shape = tuple[int, ...]


def left(graph: Graph, choice: Choice) -> str:
    """The operators after a choice was made wherever it is possible; the results are as they were."""
    plain = serialize(graph, SPEC)
    rng = np.random.default_rng(1)
    data = [rng.integers(-128, 128, x.shape).astype(KINDS[x.dtype]) for x in graph.inputs]
    changed = load(plain)
    for op in list(changed.ops):
        choice.always.apply(changed, op)
    changed.sweep()
    np.testing.assert_array_equal(*(run(tosa, data)[0] for tosa in (serialize(changed, SPEC), plain)))
    return " ".join(op.name for op in changed.ops if not op.name.startswith("CONST"))


@pytest.mark.parametrize(
    ("image", "parted", "perms", "whole", "wanted"),
    [
        ((1, 4, 5, 12), (4, 5, 3, 2, 2), (0, 3, 1, 4, 2), (1, 8, 10, 3), "TRANSPOSE_CONV2D RESCALE"),
        ((1, 4, 5, 12), (1, 4, 5, 3, 2, 2), (0, 1, 4, 2, 5, 3), (1, 8, 10, 3), "TRANSPOSE_CONV2D RESCALE"),
        ((1, 4, 5, 12), (4, 5, 3, 2, 2), (2, 0, 3, 1, 4), (1, 3, 8, 10), "TRANSPOSE_CONV2D RESCALE TRANSPOSE"),
        ((1, 4, 5, 12), (4, 5, 2, 2, 3), (0, 3, 1, 4, 2), (1, 8, 15, 2), "TRANSPOSE_CONV2D RESCALE"),
        ((1, 4, 5, 12), (4, 5, 2, 2, 3), (0, 2, 1, 3, 4), (1, 8, 10, 3), SAME),
        ((1, 4, 5, 12), (4, 5, 3, 2, 2), (0, 3, 1, 4, 2), (1, 4, 20, 3), SAME),
        ((2, 4, 5, 6), (8, 5, 3, 2, 1), (0, 3, 1, 4, 2), (1, 16, 5, 3), SAME),
        ((4, 5, 12), (4, 5, 3, 2, 2), (0, 3, 1, 4, 2), (1, 8, 10, 3), SAME),
    ],
)
def test_pixel_shuffle(image: Shape, parted: Shape, perms: Shape, whole: Shape, wanted: str | None) -> None:
    for dtype in INTEGERS:
        graph = Graph()
        x = graph.append("RESHAPE", [graph.input("x", image, dtype), graph.shape(parted)]).output
        y = graph.append("TRANSPOSE", [x], {"perms": perms}).output
        graph.outputs = [graph.append("RESHAPE", [y, graph.shape(whole)]).output]
        as_it_was = "RESHAPE TRANSPOSE RESHAPE"
        assert left(graph, PIXEL_SHUFFLE) == (wanted if wanted and dtype is DType.INT8 else as_it_was)


@pytest.mark.parametrize(
    ("image", "view", "perms", "wanted"),
    [
        ((1, 18, 20, 12), (360, 2, 6), (0, 2, 1), True),
        ((1, 18, 20, 12), (1, 18, 20, 2, 6), (0, 1, 2, 4, 3), True),
        ((1, 18, 20, 12), (1, 18, 20, 2, 3, 2), (0, 1, 2, 5, 3, 4), True),
        ((360, 1, 12), (360, 2, 1, 6), (0, 3, 2, 1), True),
        ((1, 360, 12), (1, 360, 2, 6), (1, 0, 3, 2), True),
        ((1, 18, 20, 12), (1, 18, 20, 2, 6), (0, 2, 1, 4, 3), False),
        ((1, 18, 20, 12), (1, 18, 20, 2, 6), (0, 1, 3, 2, 4), False),
        ((1, 18, 20, 12), (1, 18, 2, 10, 12), (0, 1, 2, 4, 3), False),
        ((1, 18, 20, 12), (1, 18, 40, 6), (0, 1, 3, 2), False),
        ((1, 4, 5, 12), (20, 2, 6), (0, 2, 1), False),
        ((2, 2, 18, 20, 12), (1440, 2, 6), (0, 2, 1), False),
        ((1, 2, 2, 2048), (4, 2, 1024), (0, 2, 1), False),
    ],
)
def test_channels_in_another_order(image: Shape, view: Shape, perms: Shape, wanted: bool) -> None:
    for dtype in INTEGERS:
        graph = Graph()
        x = graph.append("RESHAPE", [graph.input("x", image, dtype), graph.shape(view)]).output
        graph.outputs = [graph.append("TRANSPOSE", [x], {"perms": perms}).output]
        found = left(graph, CHANNELS_BY_CONVOLUTION).replace("RESHAPE ", "").replace(" RESHAPE", "")
        assert found == ("CONV2D RESCALE" if wanted and dtype is DType.INT8 else "TRANSPOSE")


def convolution(image: Shape, kernel: Shape, stride: Shape, dilation: Shape, pad: Shape, dtype: DType) -> Graph:
    builder = Builder(Graph(), SPEC)
    graph, rng = builder.graph, np.random.default_rng(0)
    narrow = dtype is DType.INT8
    wide = DType.INT32 if narrow else DType.INT48
    weights = rng.integers(-127, 128, (3, *kernel, image[3])).astype(np.int8)
    bias = rng.integers(-999, 999, 3).astype(np.int32 if narrow else np.int64)
    layer = builder.emit(
        "CONV2D",
        [
            graph.input("x", image, dtype),
            graph.constant(weights, DType.INT8),
            graph.constant(bias, wide),
            builder.zero_point(3 if narrow else 0, dtype),
            builder.zero_point(0, DType.INT8),
        ],
        pad=pad,
        stride=stride,
        dilation=dilation,
        acc_type=wide,
    )
    graph.outputs = [builder.rescale(layer, [0.002, 0.003, 0.004], dtype)]
    return graph


@pytest.mark.parametrize(
    ("image", "kernel", "stride", "dilation", "pad", "dtype"),
    [
        ((1, 40, 5, 2), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), DType.INT8),
        ((1, 40, 5, 2), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), DType.INT16),
        ((1, 64, 6, 2), (3, 3), (2, 2), (1, 1), (1, 0, 1, 0), DType.INT8),
        ((1, 64, 6, 2), (3, 3), (2, 2), (1, 1), (0, 1, 0, 1), DType.INT8),
        ((1, 41, 6, 2), (5, 3), (1, 1), (2, 1), (4, 4, 1, 1), DType.INT8),
        ((1, 41, 6, 2), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), DType.INT8),
        ((1, 33, 6, 2), (3, 3), (1, 1), (1, 1), (0, 0, 0, 0), DType.INT8),
    ],
)
def test_bands_of_rows(
    monkeypatch: pytest.MonkeyPatch,
    image: Shape, kernel: Shape, stride: Shape, dilation: Shape, pad: Shape, dtype: DType,
) -> None:  # fmt: skip
    assert left(convolution(image, kernel, stride, dilation, pad, dtype), BANDS_OF_ROWS) == "CONV2D RESCALE"
    monkeypatch.setattr("arm_vgf.bands_of_rows._LARGE", 100)
    found = left(convolution(image, kernel, stride, dilation, pad, dtype), BANDS_OF_ROWS)
    assert found == "SLICE CONV2D RESCALE SLICE CONV2D RESCALE CONCAT"


@pytest.mark.parametrize("image", [(2, 40, 5, 2), (1, 16, 60, 2)])
def test_what_has_no_bands(monkeypatch: pytest.MonkeyPatch, image: Shape) -> None:
    monkeypatch.setattr("arm_vgf.bands_of_rows._LARGE", 100)
    graph = convolution(image, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), DType.INT8)
    assert left(graph, BANDS_OF_ROWS) == "CONV2D RESCALE"


@pytest.mark.parametrize(
    ("image", "kernel", "stride", "dilation", "pad", "wanted"),
    [
        ((1, 32, 48, 3), (16, 16), (16, 16), (1, 1), (0, 0, 0, 0), True),
        ((2, 12, 15, 3), (7, 7), (4, 4), (1, 1), (3, 0, 2, 2), True),
        ((1, 12, 16, 3), (3, 3), (2, 2), (1, 1), (1, 0, 1, 0), True),
        ((1, 12, 15, 3), (3, 3), (3, 1), (1, 1), (0, 0, 1, 1), False),
        ((1, 13, 17, 3), (3, 3), (2, 2), (2, 2), (0, 0, 0, 0), False),
        ((1, 12, 16, 32), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), False),
    ],
)
def test_patches(image: Shape, kernel: Shape, stride: Shape, dilation: Shape, pad: Shape, wanted: bool) -> None:
    for dtype in INTEGERS:
        found = left(convolution(image, kernel, stride, dilation, pad, dtype), OVER_PATCHES)
        assert ("TRANSPOSE" in found) == wanted


@pytest.mark.parametrize(
    ("scale", "read_twice", "kept", "wanted"),
    [
        ((1, 1, 1, 1), False, False, "TRANSPOSE MUL CLAMP CAST"),
        ((1, 1, 1, 5), False, False, "MUL CLAMP CAST TRANSPOSE"),
        ((1, 1, 1, 1), True, False, "MUL CLAMP CAST TRANSPOSE ABS"),
        ((1, 1, 1, 1), False, True, "MUL CLAMP CAST TRANSPOSE"),
    ],
)
def test_the_layout_of_a_float_input(scale: Shape, read_twice: bool, kept: bool, wanted: str) -> None:
    builder = Builder(Graph(), SPEC)
    graph = builder.graph
    x = graph.input("x", (1, 3, 4, 5), DType.FP32)
    shift = graph.constant(np.zeros(1, np.int8), DType.INT8)
    steps = builder.emit("MUL", [x, graph.constant(np.full(scale, 0.7, np.float32), DType.FP32), shift])
    steps = builder.emit("CLAMP", [steps], min_val=-99.0, max_val=99.0)
    integers = builder.emit("CAST", [steps], output_dtype=DType.INT8)
    graph.outputs = [builder.emit("TRANSPOSE", [integers], perms=(0, 2, 3, 1))]
    graph.outputs += [builder.emit("ABS", [x])] if read_twice else []
    graph.outputs += [integers] if kept else []
    assert left(graph, LAYOUT_OF_INPUT) == wanted


@pytest.mark.parametrize(
    ("perms", "axis", "per_channel", "read", "wanted"),
    [
        ((0, 3, 1, 2), 3, False, False, "CONV2D RESCALE TRANSPOSE REDUCE_MAX RESCALE RESCALE SUB ADD RESCALE"),
        ((0, 2, 3, 1), 1, False, False, "CONV2D RESCALE TRANSPOSE REDUCE_MAX RESCALE RESCALE SUB ADD RESCALE"),
        ((0, 3, 1, 2), 3, True, False, "CONV2D RESCALE REDUCE_MAX RESCALE RESCALE SUB ADD RESCALE TRANSPOSE"),
        ((0, 3, 1, 2), 3, False, True, "CONV2D RESCALE REDUCE_MAX RESCALE RESCALE SUB ADD RESCALE TRANSPOSE"),
    ],
    ids=["softmax of channels", "softmax of rows", "scales by channel", "another result"],
)
def test_what_a_layer_writes(perms: Shape, axis: int, per_channel: bool, read: bool, wanted: str) -> None:
    graph = convolution((1, 6, 5, 2), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), DType.INT8)
    builder, (x,) = Builder(graph, SPEC), graph.outputs
    top = builder.emit("REDUCE_MAX", [x], axis=axis)
    scales = [0.5, 0.6, 0.7] if per_channel else [1.0]
    wide, least = builder.rescale(x, scales, DType.INT32), builder.rescale(top, [1.0], DType.INT32)
    shift = graph.constant(np.arange(3, dtype=np.int32).reshape(1, 1, 1, 3), DType.INT32)
    y = builder.rescale(builder.emit("ADD", [builder.emit("SUB", [wide, least]), shift]), [0.5], DType.INT8)
    graph.outputs = [builder.emit("TRANSPOSE", [y], perms=perms), *([top] if read else [])]
    assert left(graph, LAYOUT_OF_RESULT) == wanted
