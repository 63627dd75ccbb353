"""RESIZE, TRANSPOSE_CONV2D and CONV3D that Ethos-U55 has not, in what it has: the same integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from rewrite_kit import SPEC, before_and_after, cycles

from arm_ethosu.accelerators import MAX_AXIS
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams
from arm_tosa_core.rules.resize import upsample_nearest2d
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor

_HALF, _CORNERS = True, False


def _assert_resized(builder: Builder, names: dict[str, int]) -> None:
    """The graph is the same without RESIZE, with so many operators of these names."""
    before_and_after(builder)
    made = [op.name for op in builder.graph.ops]
    assert "RESIZE" not in made
    assert {name: made.count(name) for name in names} == names


def _operands(size: tuple[int, ...], kernel: tuple[int, ...], dtype: DType) -> tuple[Builder, list[Tensor]]:
    """What a convolution reads: two images of three channels, weights and biases of four, zero points."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    narrow = dtype is DType.INT8
    bias = np.arange(4, dtype=np.int32 if narrow else np.int64) * 900
    return builder, [
        graph.input("x", (2, *size, 3), dtype),
        graph.constant(rng.integers(-127, 128, (4, *kernel, 3)).astype(np.int8), DType.INT8),
        graph.constant(bias, DType.INT32 if narrow else DType.INT48),
        builder.zero_point(3 if narrow else 0, dtype),
        builder.zero_point(0, DType.INT8),
    ]


def _bilinear(shape: tuple[int, ...], size: tuple[int, int], half: bool, dtype: DType, to: DType, by: float) -> Builder:
    """A RESIZE, with half-pixel centres or aligned corners, and the RESCALE after it."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, scale, offset, border = builder.graph, [], [], []
    for length, results in zip(shape[1:3], size, strict=True):
        ratio = Fraction(results, length) if half else Fraction(max(results - 1, 1), max(length - 1, 1))
        up, down = (2 * ratio.numerator, 2 * ratio.denominator) if half else ratio.as_integer_ratio()
        offset.append(ratio.denominator - ratio.numerator if half else 0)
        border.append((results - 1) * down - (length - 1) * up + offset[-1])
        scale += [up, down]
    operands = [graph.shape(values) for values in (scale, offset, border)]
    wide = builder.emit("RESIZE", [graph.input("x", shape, dtype), *operands], mode="BILINEAR")
    graph.outputs = [wide if to is DType.INT32 else builder.rescale(wide, [by / (scale[0] * scale[2])], to)]
    return builder


@pytest.mark.parametrize(
    ("shape", "size", "half", "dtype", "to", "by", "names"),
    [
        # One convolution for each result of a period and axis, or a matrix along an axis.
        ((1, 7, 7, 5), (28, 28), _HALF, DType.INT8, DType.INT8, 1.0, {"DEPTHWISE_CONV2D": 8}),
        ((1, 5, 6, 3), (40, 6), _HALF, DType.INT8, DType.INT8, 1.0, {"DEPTHWISE_CONV2D": 9}),  # 6 to 6 by 2 / 2
        ((1, 10, 10, 3), (25, 25), _HALF, DType.INT8, DType.INT8, 1.0, {"CONV2D": 2, "TRANSPOSE": 3}),
        ((1, 32, 3, 2), (80, 12), _HALF, DType.INT8, DType.INT8, 0.7, {"DEPTHWISE_CONV2D": 9}),
        ((2, 5, 4, 3), (7, 16), _HALF, DType.INT8, DType.INT8, 1.0, {"DEPTHWISE_CONV2D": 4, "CONV2D": 1}),
        ((1, 14, 14, 3), (56, 56), _CORNERS, DType.INT8, DType.INT8, 1.0, {"CONV2D": 2, "TRANSPOSE": 3}),
        ((1, 28, 2, 3), (224, 256), _CORNERS, DType.INT8, DType.INT16, 90.0, {"CONV2D": 2}),  # weights beyond 127
        ((1, 8, 16, 3), (4, 2), _HALF, DType.INT8, DType.INT8, 1.0, {"DEPTHWISE_CONV2D": 1, "CONV2D": 1}),
        ((1, 9, 5, 3), (3, 1), _CORNERS, DType.INT8, DType.INT8, 1.0, {}),
        ((1, 1, 1, 150), (28, 28), _HALF, DType.INT8, DType.INT8, 1.0, {"CONV2D": 2}),
        ((1, 1, 7, 1), (1, 13), _CORNERS, DType.INT8, DType.INT8, 1.0, {"CONV2D": 1}),
        ((1, 7, 7, 3), (14, 28), _HALF, DType.INT8, DType.INT32, 1.0, {}),  # no RESCALE after it
        ((1, 5, 6, 3), (40, 48), _HALF, DType.INT16, DType.INT16, 1.0, {"DEPTHWISE_CONV2D": 64}),
        ((1, 5, 6, 3), (9, 6), _CORNERS, DType.INT16, DType.INT8, 0.01, {"CONV2D": 1}),
    ],
)
def test_a_bilinear_resize_becomes_convolutions(
    shape: tuple[int, ...],
    size: tuple[int, int],
    half: bool,
    dtype: DType,
    to: DType,
    by: float,
    names: dict[str, int],
) -> None:
    builder = _bilinear(shape, size, half, dtype, to, by)
    _assert_resized(builder, names)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize(
    ("shape", "size", "names"),
    [
        ((1, 5, 6, 3), (15, 18), {"CONCAT": 2}),  # copies, side by side
        ((2, 5, 6, 3), (10, 6), {"CONCAT": 1}),
        ((1, 6, 4, 5), (9, 6), {"DEPTHWISE_CONV2D": 6}),  # 3 results of 2 pixels
        ((1, 8, 6, 3), (4, 3), {"DEPTHWISE_CONV2D": 1}),
        ((1, 7, 5, 3), (4, 8), {"CONV2D": 2}),  # no period: matrices
        ((1, 2, 2, 3), (32, 32), {"CONCAT": 2}),
    ],
)
def test_a_nearest_resize_becomes_copies_or_convolutions(
    shape: tuple[int, ...], size: tuple[int, int], names: dict[str, int], dtype: DType
) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.value(builder.graph.input("x", shape, dtype), torch.float32, quant=QParams((0.1,), 0, -100, 100))
    image = builder.nhwc(upsample_nearest2d(builder, builder.nchw(x), size))
    builder.graph.outputs = [builder.tensor(image)]
    _assert_resized(builder, names)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilation"),
    [
        ((3, 3, 3), (1, 1, 1), (1, 1, 1, 1, 1, 1), (1, 1, 1)),
        ((2, 1, 3), (2, 2, 1), (1, 0, 0, 1, 0, 0), (1, 1, 1)),
        ((2, 3, 1), (3, 1, 1), (0, 2, 0, 0, 0, 0), (3, 1, 2)),
        ((1, 3, 3), (2, 1, 1), (1, 0, 1, 1, 1, 1), (1, 1, 1)),
    ],
)
def test_a_kernel_with_a_depth_becomes_channels(
    kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...], dilation: tuple[int, ...], dtype: DType
) -> None:
    extents = [
        (k - 1) * d + 1 + s * 2 - pad[2 * i] - pad[2 * i + 1]
        for i, (k, d, s) in enumerate(zip(kernel, dilation, stride, strict=True))
    ]
    builder, operands = _operands(tuple(extents), kernel, dtype)
    graph = builder.graph
    wide = builder.emit("CONV3D", operands, pad=pad, stride=stride, dilation=dilation)
    graph.outputs = [builder.rescale(wide, [0.002], dtype)]
    before_and_after(builder)
    made = [op for op in graph.ops if op.name == "CONV3D"]
    assert all(op.inputs[1].shape[1] == 1 for op in made)
    assert dtype is DType.INT8 or not any(any(op.attrs["pad"][:2]) or op.attrs["stride"][0] > 1 for op in made)


def test_what_a_conv3d_reads_of_a_slice_is_copied() -> None:
    """Vela 5.2 crashes without, on Ethos-U55."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    image = graph.input("x", (1, 3, 5, 4, 4), DType.INT8)
    part = builder.emit("SLICE", [image, graph.shape([0] * 5), graph.shape([1, 3, 5, 4, 2])])
    weight = graph.constant(rng.integers(-127, 128, (3, 1, 3, 2, 2)).astype(np.int8), DType.INT8)
    bias = graph.constant(np.zeros(3, np.int32), DType.INT32)
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    attrs = {"pad": (0, 0, 2, 2, 1, 1), "stride": (1, 1, 1), "dilation": (1, 1, 1)}
    graph.outputs = [builder.rescale(builder.emit("CONV3D", [part, weight, bias, *zeros], **attrs), [0.01], DType.INT8)]
    _, legal = before_and_after(builder)
    assert "MAX_POOL2D" in {op.name for op in graph.ops} and cycles(legal) > 0


@pytest.mark.parametrize(
    ("dtype", "rescaled"),
    [(DType.INT8, True), (DType.INT8, False), (DType.INT16, True)],
    ids=["INT8", "INT32", "INT16"],
)
@pytest.mark.parametrize(
    ("hw", "kernel", "stride", "pad"),
    [
        ((4, 5), (3, 3), (3, 3), (0, 0, 0, 0)),
        ((4, 5), (4, 3), (2, 1), (-1, -2, 0, 1)),
        ((3, 4), (2, 5), (4, 3), (1, 3, -1, 2)),  # results of no weight
        ((1, 7), (1, 16), (1, 8), (0, 0, -4, -4)),
        ((6, 6), (3, 3), (3, 4), (-2, -2, -2, -1)),  # pixels that nothing reads
    ],
)
def test_a_transposed_convolution_becomes_convolutions(
    hw: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, ...],
    dtype: DType,
    rescaled: bool,
) -> None:
    builder, operands = _operands(hw, kernel, dtype)
    graph = builder.graph
    wide = builder.emit("TRANSPOSE_CONV2D", operands, out_pad=pad, stride=stride)
    graph.outputs = [builder.rescale(wide, [0.002, 0.003, 0.001, 0.004], dtype) if rescaled else wide]
    before_and_after(builder)
    made = [op.name for op in graph.ops]
    assert "TRANSPOSE_CONV2D" not in made and made.count("CONV2D") == stride[0] * stride[1]


@pytest.mark.parametrize(
    ("shape", "axis", "parts"),
    [
        ((2, MAX_AXIS), 1, 0),
        ((2, MAX_AXIS + 1), 1, 2),
        ((2, 64 * 56 * 56), 1, 4),
        ((1, 70000, 4), 1, 2),
        ((MAX_AXIS + 1, 3), 0, 2),
    ],
)
def test_sums_of_long_axes(shape: tuple[int, ...], axis: int, parts: int) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.graph.input("x", shape, DType.INT8)
    total = builder.emit("REDUCE_SUM", [builder.rescale(x, [1.0], DType.INT32, zero_point=-1)], axis=axis)
    builder.graph.outputs = [builder.rescale(total, [1 / shape[axis]], DType.INT8)]
    plain, legal = before_and_after(builder)
    sums = [op.inputs[0].shape[op.attrs["axis"]] for op in builder.graph.ops if op.name == "REDUCE_SUM"]
    assert sums == ([-(-shape[axis] // parts), parts] if parts else [shape[axis]])
    if parts:
        with pytest.raises(ToolError, match="could not run on NPU"):
            cycles(plain)
    assert cycles(legal) > 0


@pytest.mark.parametrize(
    ("source", "shape", "perms", "copied"),
    [
        # As the heads of NesT, whose attention reads [1, blocks, tokens, heads, channels].
        ((1, 16, 196, 1, 3, 32), (16, 196, 3, 32), (2, 0, 3, 1), True),
        # The axis that comes first is swapped with the first: of the others Vela joins 65536 elements, or 66048.
        ((1, 16, 8, 64, 128), (16, 8, 64, 128), (3, 0, 2, 1), False),
        ((1, 17, 8, 64, 128), (17, 8, 64, 128), (3, 0, 2, 1), False),
        ((1, 16, 8, 64, 129), (16, 8, 64, 129), (3, 0, 2, 1), True),
        ((1, 2, 2, 4096, 8), (2, 2, 4096, 8), (1, 2, 3, 0), False),
        ((1, 2, 2, 4096, 9), (2, 2, 4096, 9), (1, 2, 3, 0), True),
        # It stays where it was, or the axes before the RESHAPE are others.
        ((1, 2, 8, 64, 129), (2, 8, 64, 129), (0, 2, 3, 1), False),
        ((1, 16, 14, 14, 96), (16, 196, 3, 32), (2, 0, 3, 1), False),
    ],
)
def test_axes_that_vela_would_move_as_before_a_reshape(
    source: tuple[int, ...], shape: tuple[int, ...], perms: tuple[int, ...], copied: bool
) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    axes = builder.reshape(builder.graph.input("x", source, DType.INT8), shape)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [axes], perms=perms)]
    plain, legal = before_and_after(builder)
    assert [op.name for op in builder.graph.ops].count("MAX_POOL2D") == copied
    if copied:
        with pytest.raises(ToolError, match="could not run on NPU"):
            cycles(plain)
    assert cycles(legal) > 0


def test_axes_that_stay_together_become_one_of_those_that_vela_moves() -> None:
    # As the result of NesT's attention. All three together would be longer than an axis may be.
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.graph.input("x", (1, 3, 16, 196, 32), DType.INT8)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [x], perms=(0, 2, 3, 4, 1))]
    plain, legal = before_and_after(builder)
    (moved,) = [op.inputs[0].shape for op in builder.graph.ops if op.name == "TRANSPOSE"]
    assert moved == (3, 16 * 196, 32)
    with pytest.raises(ToolError, match="could not run on NPU"):
        cycles(plain)
    assert cycles(legal) > 0
