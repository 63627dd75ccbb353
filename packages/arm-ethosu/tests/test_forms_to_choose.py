"""What the estimate may choose: the same results wherever it is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from choice_kit import NUMPY, convolution, new_builder, only, padding, same_results

from arm_ethosu.rewrites.bands_of_channels import BY_BAND
from arm_ethosu.rewrites.conv2d_of_few_channels import COLUMNS_AS_CHANNELS, ROWS_AS_CHANNELS
from arm_ethosu.rewrites.conv2d_of_whole_image import WHOLE_IMAGE
from arm_ethosu.rewrites.conv2d_over_patches import OVERLAPPING_PATCHES_U85
from arm_ethosu.rewrites.turned_images import TURNED_IMAGES
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize(("batch", "width"), [(1, 11), (2, 12), (2, 13)])
@pytest.mark.parametrize("stride", [(1, 2), (2, 2), (3, 2), (2, 3), (4, 4)])
@pytest.mark.parametrize("kernel", [(1, 1), (1, 2), (2, 3), (3, 4), (3, 5), (2, 6), (7, 7)])
def test_columns_become_channels(
    kernel: tuple[int, int], stride: tuple[int, int], batch: int, width: int, dtype: DType
) -> None:
    for before in range(min(3, kernel[1])):
        builder = new_builder()
        image = builder.graph.input("x", (batch, 9, width, 3), dtype)
        pad = padding(9, kernel[0], stride[0], min(1, kernel[0] - 1)) + padding(width, kernel[1], stride[1], before)
        builder.graph.outputs = [convolution(builder, image, kernel, stride, pad)]
        same_results(builder.graph, COLUMNS_AS_CHANNELS)


@pytest.mark.parametrize("kernel", [(2, 5), (5, 4), (7, 7)])
def test_overlapping_patches_become_channels(kernel: tuple[int, int]) -> None:
    builder = new_builder()
    image = builder.graph.input("x", (2, 12, 13, 3), DType.INT8)
    pad = padding(12, kernel[0], 4, 1) + padding(13, kernel[1], 5, 2)
    builder.graph.outputs = [convolution(builder, image, kernel, (4, 5), pad)]
    same_results(builder.graph, OVERLAPPING_PATCHES_U85)


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize(("batch", "height"), [(1, 11), (2, 12), (2, 13)])
@pytest.mark.parametrize("stride", [2, 4])
@pytest.mark.parametrize("kernel", [(1, 1), (2, 3), (3, 2), (4, 3), (5, 1), (6, 2), (7, 4)])
def test_rows_become_channels(kernel: tuple[int, int], stride: int, batch: int, height: int, dtype: DType) -> None:
    for before in range(min(3, kernel[0])):
        builder = new_builder()
        image = builder.graph.input("x", (batch, height, 7, 5), dtype)
        pad = (*padding(height, kernel[0], stride, before), int(kernel[1] > 1), 0)
        builder.graph.outputs = [convolution(builder, image, kernel, (stride, 1), pad)]
        same_results(builder.graph, ROWS_AS_CHANNELS)


@pytest.mark.parametrize(
    ("start", "size", "kernel", "pad", "viewed"),
    [
        ((0, 0, 0, 0), (1, 11, 11, 3), (3, 3), (0, 0, 0, 0), True),  # what no window reaches was cut off
        ((0, 1, 2, 0), (1, 9, 9, 3), (3, 3), (0, 0, 0, 0), True),
        ((0, 1, 2, 0), (1, 9, 9, 3), (3, 3), (0, 0, 2, 0), True),
        ((0, 1, 1, 0), (1, 9, 9, 3), (3, 3), (0, 0, 0, 0), False),  # cuts a pair of columns
        ((0, 0, 0, 0), (1, 11, 11, 3), (3, 3), (1, 1, 1, 1), False),  # reads padding in place of what was cut off
        ((0, 0, 0, 1), (1, 11, 11, 2), (3, 3), (0, 0, 0, 0), False),  # cuts channels
        ((1, 0, 0, 0), (1, 11, 10, 3), (3, 4), (0, 0, 0, 0), True),
    ],
)
def test_columns_of_a_part_become_channels(
    start: Sequence[int], size: Sequence[int], kernel: Sequence[int], pad: Sequence[int], viewed: bool
) -> None:
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", (2, 12, 12, 3), DType.INT8)
    part = builder.emit("SLICE", [image, graph.shape(start), graph.shape(size)])
    graph.outputs = [convolution(builder, part, kernel, (2, 2), pad)]
    same_results(graph, COLUMNS_AS_CHANNELS)
    (op,) = (op for op in graph.ops if op.name == "CONV2D")
    assert COLUMNS_AS_CHANNELS.always.apply(graph, op)
    graph.sweep()
    assert [op.name for op in graph.ops][:2] == (["RESHAPE", "SLICE"] if viewed else ["SLICE", "PAD"])[:2]


@pytest.mark.parametrize(
    ("channels", "stride", "dilation", "constant"),
    [
        (3, (2, 1), (1, 1), True),
        (3, (2, 2), (1, 2), True),
        (17, (2, 2), (1, 1), True),
        (3, (2, 2), (1, 1), False),
    ],
)
def test_other_convolutions_stay(
    channels: int, stride: tuple[int, int], dilation: tuple[int, int], constant: bool
) -> None:
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", (1, 13, 13, channels), DType.INT8)
    graph.outputs = [convolution(builder, image, (3, 3), (1, 1), (0, 0, 0, 0))]
    (op,) = (op for op in graph.ops if op.name == "CONV2D")
    op.attrs |= {"stride": stride, "dilation": dilation}
    if not constant:
        graph.set_input(op, 1, graph.input("w", op.inputs[1].shape, DType.INT8))
    assert not COLUMNS_AS_CHANNELS.always.apply(graph, op)


def _transposed(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    weight = np.random.default_rng(4).integers(-127, 128, (6, 3, 1, 3)).astype(np.int8)
    operands = [graph.constant(weight, DType.INT8), graph.constant(np.zeros(6, np.int32), DType.INT32)]
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    attrs = {"out_pad": (1, 0, 0, 0), "stride": (2, 1), "acc_type": DType.INT32}
    return builder.rescale(builder.emit("TRANSPOSE_CONV2D", [x, *operands, *zeros], **attrs), [0.004], DType.INT8)


def _residual(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    """A convolution, and its sum with a constant for each row, pooled and joined with its reverse."""
    made = convolution(builder, x, (3, 1), (1, 1), (1, 1, 0, 0))
    row = graph.constant(
        np.random.default_rng(5).integers(-99, 99, (1, made.shape[1], 1, 6)).astype(np.int32), DType.INT32
    )
    made = builder.rescale(builder.emit("ADD", [builder.rescale(made, [1.0], DType.INT32), row]), [0.5], DType.INT8)
    made = builder.emit("MAX_POOL2D", [made], kernel=(2, 1), stride=(2, 1), pad=(0, made.shape[1] % 2, 0, 0))
    return builder.emit("CONCAT", [made, builder.emit("REVERSE", [made], axis=1)], axis=1)


def _padded_part(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    x = builder.emit("SLICE", [x, graph.shape((0, 4, 0, 0)), graph.shape((2, 13, x.shape[2], 3))])
    x = builder.emit("PAD", [x, graph.shape((0, 0, 2, 5, 0, 0, 0, 0)), builder.zero_point(7, DType.INT8)])
    return convolution(builder, x, (4, 1), (2, 1), (1, 1, 0, 0))


def _averaged(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    made = convolution(builder, x, (3, 2), (1, 1), (2, 0, 1, 0))
    return builder.emit(
        "AVG_POOL2D", [made, *[builder.zero_point(0, DType.INT8)] * 2], kernel=(3, 2), stride=(1, 1), pad=(1, 1, 1, 0)
    )


_HIGH: dict[str, Callable[[Graph, Builder, Tensor], Tensor]] = {
    "transposed convolution": _transposed,
    "sum and parts": _residual,
    "part and padding": _padded_part,
    "pool of windows": _averaged,
}


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", _HIGH)
def test_high_images_are_turned(name: str, width: int) -> None:
    builder = new_builder()
    graph = builder.graph
    graph.outputs = [_HIGH[name](graph, builder, graph.input("x", (2, 21, width, 3), DType.INT8))]
    same_results(graph, TURNED_IMAGES)
    assert [op for op in list(graph.ops) if TURNED_IMAGES.always.apply(graph, op)]
    graph.sweep()
    moved = [op for op in graph.ops if op.name == ("RESHAPE" if width == 1 else "TRANSPOSE")]
    assert [moved[0].position, moved[-1].position] == [graph.ops[0].position, list(graph.ops)[-1].position]
    assert len(moved) == 2, "one before all and one behind, and none between"


@pytest.mark.parametrize(
    ("shape", "constant"), [((1, 8, 21, 3), True), ((1, 12, 12, 3), True), ((1, 1, 1, 3), True), ((1, 21, 1, 3), False)]
)
def test_other_images_are_not_turned(shape: tuple[int, ...], constant: bool) -> None:
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", shape, DType.INT8)
    graph.outputs = [convolution(builder, image, (1, 1), (1, 1), (0, 0, 0, 0))]
    if not constant:
        op = only(graph, "CONV2D")
        graph.set_input(op, 1, graph.input("w", op.inputs[1].shape, DType.INT8))
    assert not [op for op in graph.ops if TURNED_IMAGES.always.apply(graph, op)]


@pytest.mark.parametrize(
    ("start", "size", "kernel", "stride", "pad", "times"),
    [
        ((0, 0, 0, 0), (2, 11, 13, 5), (1, 1), (2, 2), (0, 0, 0, 0), 1),
        ((0, 0, 0, 0), (2, 11, 14, 5), (1, 2), (2, 2), (0, 0, 0, 0), 1),
        ((0, 0, 0, 0), (2, 11, 13, 5), (3, 3), (2, 2), (0, 0, 0, 0), 1),
        ((0, 0, 0, 0), (2, 12, 13, 5), (2, 3), (2, 2), (0, 0, 2, 0), 1),
        ((0, 0, 0, 0), (2, 10, 13, 5), (1, 1), (3, 3), (0, 0, 0, 0), 0),  # 3x2 for 1x1
        ((0, 0, 0, 0), (2, 11, 13, 5), (3, 3), (2, 2), (1, 1, 0, 0), 0),  # reads padding in place of what is cut off
        ((0, 0, 0, 0), (2, 11, 11, 5), (1, 1), (2, 2), (0, 0, 0, 0), 0),  # cuts off results, too
        ((0, 1, 0, 0), (2, 11, 13, 5), (1, 1), (2, 2), (0, 0, 0, 0), 0),
        ((0, 0, 0, 1), (2, 11, 13, 4), (1, 1), (2, 2), (0, 0, 0, 0), 0),
        ((1, 0, 0, 0), (1, 11, 13, 5), (1, 1), (2, 2), (0, 0, 0, 0), 0),
    ],
)
def test_what_no_window_reaches_is_read(
    start: Sequence[int],
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    times: int,
) -> None:
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", (2, 12, 14, 5), DType.INT8)
    part = builder.emit("SLICE", [image, graph.shape(start), graph.shape(size)])
    graph.outputs = [convolution(builder, part, kernel, stride, pad)]
    same_results(graph, WHOLE_IMAGE, times)


@pytest.mark.parametrize(("kernel", "stride", "pad"), [((1, 1), (1, 1), (0,) * 4), ((3, 2), (1, 2), (1, 1, 0, 0))])
def test_bands_of_rows_are_convolved_one_by_one(
    kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int]
) -> None:
    builder, bands, size = new_builder(), 5, (4, 60, 8)
    graph, rng = builder.graph, np.random.default_rng(0)
    matrix = builder.emit("RESHAPE", [graph.input("x", (1, 20, 60, 8), DType.INT8), graph.shape((bands, 1920))])
    turned = builder.emit("TRANSPOSE", [matrix], perms=(1, 0))
    channels = size[2] * bands
    image = builder.emit("RESHAPE", [turned, graph.shape((1, *size[:2], channels))])
    weight = rng.integers(-127, 128, (*kernel, channels, 1)).astype(np.int8)
    bias = rng.integers(-999, 999, channels).astype(np.int32)
    zeros = builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)
    operands = [image, graph.constant(weight, DType.INT8), graph.constant(bias, DType.INT32), *zeros]
    attrs = {"pad": tuple(pad), "stride": tuple(stride), "dilation": (1, 1), "acc_type": DType.INT32}
    wide = builder.emit("DEPTHWISE_CONV2D", operands, **attrs)
    graph.outputs = [builder.rescale(wide, [0.004 * (1 + i / channels) for i in range(channels)], DType.INT8)]
    same_results(graph, BY_BAND)
