"""Operators in the form that Vela is fast at: the same results in fewer cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from rewrite_kit import SPEC, before_and_after, chosen_of, cycles

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load

SPEC_U85 = EthosUCompileSpec("ethos-u85-256")


def _convolution(
    shape: Sequence[int],
    kernel: Sequence[int],
    *,
    outputs: int = 8,
    stride: Sequence[int] = (1, 1),
    pad: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
) -> Builder:
    """A CONV2D over an image whose zero point is 3; ``kernel`` is (height, width)."""
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    image = graph.input("x", shape, DType.INT8)
    weight = graph.constant(rng.integers(-127, 128, (outputs, *kernel, shape[3])).astype(np.int8), DType.INT8)
    bias = graph.constant(np.arange(outputs, dtype=np.int32), DType.INT32)
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    attrs = {"pad": tuple(pad), "stride": tuple(stride), "dilation": tuple(dilation)}
    wide = builder.emit("CONV2D", [image, weight, bias, *zeros], **attrs)
    graph.outputs = [builder.rescale(wide, [0.002], DType.INT8)]
    return builder


def _weights(builder: Builder) -> tuple[int, ...]:
    (convolution,) = [op for op in builder.graph.ops if op.name == "CONV2D"]
    return convolution.inputs[1].shape


@pytest.mark.parametrize(
    ("size", "stride", "pad", "rewritten"),
    [(8, 8, 0, True), (4, 4, 0, True), (2, 2, 0, False), (3, 1, 1, False)],
)
def test_patches_become_channels(size: int, stride: int, pad: int, rewritten: bool) -> None:
    builder = _convolution((1, 32, 32, 3), (size, size), stride=(stride, stride), pad=(pad,) * 4)
    plain, legal = before_and_after(builder)
    assert (_weights(builder)[1:3] == (1, 1)) is rewritten
    if rewritten:
        assert cycles(legal) < cycles(plain)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "pad", "weights"),
    [
        ((1, 32, 32, 3), (7, 7), (4, 4), (3, 0, 3, 0), (2, 2, 48)),  # SegFormer's first layer
        ((2, 12, 9, 5), (3, 3), (5, 2), (1, 0, 0, 0), (1, 2, 50)),  # fewer rows than the stride, one side
        ((1, 9, 21, 4), (3, 5), (1, 4), (1, 1, 0, 0), (3, 2, 16)),
        ((1, 3, 12, 4), (5, 4), (4, 4), (1, 1, 0, 0), (2, 1, 64)),  # one row of results
        ((1, 59, 59, 3), (11, 11), (4, 4), (0, 0, 0, 0), (3, 3, 48)),  # AlexNet's first layer, smaller
        ((1, 3, 12, 4), (5, 4), (4, 3), (1, 1, 0, 1), None),  # ... which Vela does by itself
    ],
)
def test_overlapping_patches_become_channels(
    shape: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    weights: tuple[int, ...] | None,
) -> None:
    builder = _convolution(shape, kernel, stride=stride, pad=pad)
    before = _weights(builder)
    plain, legal = before_and_after(builder)
    assert _weights(builder)[1:] == (weights or before[1:])
    assert cycles(legal) < (cycles(plain) / 5 if not any(pad) else math.inf)  # Vela does not take it with padding


@pytest.mark.parametrize(
    ("shape", "kernel", "outputs", "geometry", "weights"),
    [
        # As in DeepLab: every element of the kernel meets the image.
        ((1, 14, 14, 16), (3, 3), 16, {"pad": (12,) * 4, "dilation": (12, 12)}, (1, 1, 9 * 16)),
        # Of the third one only the middle does.
        ((1, 14, 14, 16), (3, 3), 16, {"pad": (36,) * 4, "dilation": (36, 36)}, (1, 1, 16)),
        # Dilated along one axis alone; the other keeps its kernel, padding and stride.
        ((1, 9, 40, 8), (3, 2), 32, {"pad": (1, 1, 8, 0), "dilation": (1, 8)}, (3, 1, 2 * 8)),
        ((2, 41, 9, 8), (3, 3), 64, {"pad": (0, 0, 1, 2), "dilation": (5, 2), "stride": (2, 1)}, (1, 3, 3 * 8)),
        ((1, 80, 1, 8), (3, 1), 64, {"dilation": (16, 16)}, (1, 1, 3 * 8)),
        # Strides between which the views have gaps, and padding on one side.
        ((1, 28, 28, 4), (2, 3), 256, {"pad": (0, 1, 1, 1), "dilation": (7, 7), "stride": (3, 3)}, (1, 1, 6 * 4)),
        # More views than a CONCAT may have operands.
        ((1, 40, 40, 4), (9, 9), 32, {"pad": (16,) * 4, "dilation": (4, 4)}, (1, 1, 81 * 4)),
        # Zeros that cost less than copies.
        ((1, 14, 14, 16), (3, 3), 8, {"pad": (3,) * 4, "dilation": (3, 3)}, None),
        # What the hardware does by itself.
        ((1, 14, 14, 16), (3, 3), 64, {"pad": (2,) * 4, "dilation": (2, 2)}, None),
        ((1, 14, 14, 16), (1, 3), 64, {"pad": (0, 0, 2, 2), "dilation": (6, 2)}, None),
    ],
)
def test_dilation_becomes_views(
    shape: Sequence[int],
    kernel: Sequence[int],
    outputs: int,
    geometry: dict[str, Sequence[int]],
    weights: Sequence[int] | None,
) -> None:
    builder = _convolution(shape, kernel, outputs=outputs, **geometry)
    plain, legal = before_and_after(builder)
    assert _weights(builder) == (outputs, *(weights or (*kernel, shape[3])))
    if weights:
        assert cycles(legal) < cycles(plain)


@pytest.mark.parametrize(
    ("shape", "axis", "pools", "transposes"),
    [
        ((6, 64, 64), 2, 2, 1),  # of 4 neighbours, then of the 16 that are left
        ((2, 128, 128), 2, 2, 1),
        ((1, 8, 32, 1500), 3, 2, 1),
        ((3, 20, 197), 2, 1, 1),  # 197 is prime
        ((1, 1, 384, 64), 2, 1, 0),  # not the channels
        ((7, 300, 5), 1, 0, 0),  # longer than a kernel may be, and 7 of them
        ((5, 1, 9), 1, 0, 0),
    ],
)
def test_a_maximum_becomes_pools(shape: tuple[int, ...], axis: int, pools: int, transposes: int) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    builder.graph.outputs = [builder.emit("REDUCE_MAX", [builder.graph.input("x", shape, DType.INT8)], axis=axis)]
    plain, legal = before_and_after(builder)
    names = [op.name for op in builder.graph.ops]
    assert (names.count("MAX_POOL2D"), names.count("TRANSPOSE")) == (pools, transposes)
    if pools and axis == len(shape) - 1:
        assert cycles(legal) < cycles(plain) / 3


@pytest.mark.parametrize(("channels", "pools"), [(10, 0), (40, 2)])
def test_few_scores_are_compared_where_they_are(channels: int, pools: int) -> None:
    """In a softmax behind a layer; a pool would need a copy of them."""
    builder = _convolution((1, 1, 1, 16), (1, 1), outputs=channels)
    scores = builder.emit("RESHAPE", [builder.graph.outputs[0], builder.graph.shape((1, channels))])
    largest = builder.rescale(builder.emit("REDUCE_MAX", [scores], axis=1), [1.0], DType.INT32)
    distance = builder.emit("SUB", [builder.rescale(scores, [1.0], DType.INT32), largest])
    builder.graph.outputs = [builder.rescale(distance, [1.0], DType.INT8, 0, 127)]
    before_and_after(builder, SPEC_U85)
    assert [op.name for op in builder.graph.ops].count("MAX_POOL2D") == pools


@pytest.mark.parametrize("zero", [127, -128, 5])
def test_two_rescales_before_a_table_become_one(zero: int) -> None:
    builder = Builder(Graph(), SPEC_U85.tosa_spec)
    graph = builder.graph
    x, y = (builder.rescale(graph.input(name, (1, 4, 8), DType.INT8), [1.0], DType.INT32) for name in "xy")
    narrow = builder.rescale(builder.emit("SUB", [x, y]), [1.0], DType.INT8, 0, zero)
    table = graph.constant(np.arange(-20000, -20000 + 513 * 70, 70, np.int16), DType.INT16)
    wide = builder.emit("TABLE", [builder.rescale(narrow, [128.0], DType.INT16, zero), table])
    graph.outputs = [builder.rescale(wide, [2.0**-7], DType.INT16)]
    plain, legal = before_and_after(builder, SPEC_U85)
    assert [op.name for op in graph.ops].count("RESCALE") == 4
    assert cycles(legal, SPEC_U85) < cycles(plain, SPEC_U85)


def test_what_is_rescaled_twice_is_summed_with_zero() -> None:
    builder = Builder(Graph(), SPEC_U85.tosa_spec)
    x = builder.rescale(builder.graph.input("x", (1, 8, 16), DType.INT8), [1.0], DType.INT32)
    total = builder.emit("REDUCE_SUM", [x], axis=2)
    eights = (builder.rescale(total, [scale], DType.INT8, 0, 3) for scale in (0.05, 0.33))
    left, right = (builder.rescale(narrow, [1.0], DType.INT32, 3) for narrow in eights)
    builder.graph.outputs = [builder.rescale(builder.emit("SUB", [left, right]), [0.7], DType.INT8)]
    plain, legal = before_and_after(builder, SPEC_U85)
    assert [op.name for op in builder.graph.ops].count("ADD") == 2
    assert cycles(legal, SPEC_U85) < cycles(plain, SPEC_U85) / 2


@pytest.mark.parametrize("op", ["MUL", "ADD"])
def test_a_constant_that_is_read_again_and_again_is_copied_once(op: str) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, zero = builder.graph, builder.zero_point(0, DType.INT8)
    values = np.arange(-40, 56, dtype=np.int8)
    constant, x = graph.constant(values.reshape(1, 96), DType.INT8), graph.input("x", (1, 64, 96), DType.INT8)
    for _ in range(2):
        left = builder.rescale(x, [1.0], DType.INT32)
        right = builder.emit("RESHAPE", [builder.rescale(constant, [1.0], DType.INT32), graph.shape((1, 1, 96))])
        x = builder.rescale(builder.emit(op, [left, right, *([zero] if op == "MUL" else [])]), [0.01], DType.INT8)
    graph.outputs = [x]
    plain, legal = before_and_after(builder)
    assert [made.name for made in graph.ops].count("MAX_POOL2D") == 1
    assert cycles(legal) < 0.8 * cycles(plain)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "around", "number", "names"),
    [
        ((1, 9, 9, 24), 3, 1, 1, 3, {"DEPTHWISE_CONV2D", "RESCALE"}),
        ((1, 9, 9, 24), 3, 1, 1, 4, {"PAD", "DEPTHWISE_CONV2D", "RESCALE"}),  # the border is not the zero point
        ((1, 33, 33, 24), 3, 2, 0, 3, {"DEPTHWISE_CONV2D", "RESCALE"}),
        ((2, 8, 8, 5), 5, 1, 2, 3, {"DEPTHWISE_CONV2D", "RESCALE"}),
        ((1, 8, 8, 24), 2, 1, 0, 3, {"DEPTHWISE_CONV2D", "RESCALE"}),  # of four, halves are rounded
        ((1, 8, 8, 24), 2, 2, 0, 3, {"AVG_POOL2D"}),  # no element is read twice
        ((1, 7, 7, 20), 7, 1, 0, 3, {"AVG_POOL2D"}),
    ],
)
def test_an_average_of_overlapping_windows_becomes_a_convolution(
    shape: tuple[int, ...], kernel: int, stride: int, around: int, number: int, names: set[str]
) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph = builder.graph
    image = graph.input("x", shape, DType.INT8)
    if around:
        amounts = graph.shape([0, 0, around, around, around, around, 0, 0])
        image = builder.emit("PAD", [image, amounts, builder.zero_point(number, DType.INT8)])
    zeros = [builder.zero_point(zero, DType.INT8) for zero in (3, -5)]
    window = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (0, 0, 0, 0), "acc_type": DType.INT32}
    graph.outputs = [builder.emit("AVG_POOL2D", [image, *zeros], **window)]
    plain, made = before_and_after(builder)
    assert {op.name for op in graph.ops} == names
    if "DEPTHWISE_CONV2D" in names:
        assert cycles(made) < cycles(plain)


@pytest.mark.parametrize(
    ("shape", "perms", "few"),
    [
        ((1, 1, 32, 2, 16), (0, 3, 1, 2, 4), (32, 2, 16)),
        ((2, 3, 4, 5, 6), (2, 3, 0, 1, 4), (6, 20, 6)),
        ((2, 1, 3, 1, 5, 4), (4, 5, 3, 1, 0, 2), (6, 20)),
        ((2, 3, 1, 4, 5), (4, 2, 3, 1, 0), (2, 3, 4, 5)),
        ((2, 3, 2, 4, 5), (4, 2, 3, 1, 0), (2, 3, 8, 5)),
        ((2, 3, 2, 4, 5), (4, 2, 0, 3, 1), ()),
        ((1, 3, 4, 5), (0, 2, 3, 1), ()),
    ],
)
def test_a_transpose_has_no_more_axes_than_it_needs(
    shape: tuple[int, ...], perms: tuple[int, ...], few: tuple[int, ...]
) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [builder.graph.input("x", shape, DType.INT8)], perms=perms)]
    plain, legal = before_and_after(builder)
    (made,) = [op for op in builder.graph.ops if op.name == "TRANSPOSE"]
    assert made.inputs[0].shape == (few or shape)
    if few:
        assert cycles(legal) <= cycles(plain)


@pytest.mark.parametrize(
    ("shape", "perms", "accelerator", "made", "less"),
    [
        # a batch, image by image
        ((2, 8, 3, 32), (0, 2, 1, 3), "ethos-u85-256", [(1, 8, 3, 32)] * 2, 0.7),
        ((3, 2, 3, 5), (0, 2, 3, 1), "ethos-u85-256", [(1, 2, 3, 5)] * 3, 0.7),
        ((2, 2, 3, 4, 2, 16), (0, 1, 3, 2, 4, 5), "ethos-u85-256", [(1, 3, 4, 32)] * 4, 0.7),
        ((3, 5, 7, 9), (0, 2, 3, 1), "ethos-u65-256", [(3, 5, 7, 9)], 1),
        ((3, 5, 7, 9), (0, 2, 3, 1), "ethos-u55-128", [(3, 5, 63)], 0.5),
        ((65, 5, 2, 9), (0, 2, 1, 3), "ethos-u85-256", [(65, 5, 2, 9)], 1),
        # few channels, in two steps
        ((64, 2, 12), (0, 2, 1), "ethos-u85-256", [(64, 2, 12), (24, 64)], 0.9),
        ((128, 2, 50), (0, 2, 1), "ethos-u85-1024", [(128, 2, 50)], 1),
        ((2048, 2, 12), (0, 2, 1), "ethos-u85-1024", [(2048, 2, 12), (24, 2048)], 0.9),
        # matrices behind a copy
        ((784, 2, 58), (0, 2, 1), "ethos-u85-1024", [(784, 2, 58)], 0.5),
        ((64, 5, 20), (0, 2, 1), "ethos-u85-256", [(64, 5, 20)], 1),
        ((64, 2, 20), (0, 2, 1), "ethos-u55-128", [(64, 2, 20)], 1),
    ],
)
def test_u85_transposes_by_image_and_few_channels_in_two_steps(
    shape: tuple[int, ...], perms: tuple[int, ...], accelerator: str, made: list[tuple[int, ...]], less: float
) -> None:
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [builder.graph.input("x", shape, DType.INT8)], perms=perms)]
    plain, legal = before_and_after(builder, spec)
    assert [op.inputs[0].shape for op in builder.graph.ops if op.name == "TRANSPOSE"] == made
    assert cycles(legal, spec) <= less * cycles(plain, spec)


@pytest.mark.parametrize(
    ("shape", "perms"),
    [
        ((40, 296), (1, 0)),
        ((1, 40, 1, 296), (0, 3, 2, 1)),
        ((1, 149, 29), (0, 2, 1)),
        ((16, 1024), (1, 0)),
        ((1, 5, 64, 48), (0, 2, 3, 1)),
        ((24, 24, 16), (2, 0, 1)),
        ((2, 40, 296), (0, 2, 1)),
        ((2, 3, 5, 7, 9), (0, 1, 3, 4, 2)),
    ],
)
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize("accelerator", ["ethos-u85-128", "ethos-u85-256", "ethos-u85-2048", "ethos-u55-128"])
@pytest.mark.parametrize("source", ["input", "read twice", "read once"])
def test_a_matrix_is_copied_where_nothing_could_write_it_transposed(
    shape: tuple[int, ...], perms: tuple[int, ...], dtype: DType, accelerator: str, source: str
) -> None:
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    x = builder.graph.input("x", shape, dtype)
    if source != "input":
        x = builder.rescale(x, [0.7], dtype)
    moved = builder.emit("TRANSPOSE", [x], perms=perms)
    builder.graph.outputs = [moved, builder.rescale(x, [0.5], dtype)] if source == "read twice" else [moved]
    plain, legal = before_and_after(builder, spec)
    is_last = perms[-2:] == (len(shape) - 1, len(shape) - 2)
    copied = "u85" in accelerator and (source == "input" or (source == "read twice" and is_last))
    assert [op.name for op in builder.graph.ops].count("BITWISE_OR") == copied
    if copied:
        assert cycles(legal, spec) < cycles(plain, spec)


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("mover", ["SLICE", "PAD", "CONCAT", "REVERSE"])
def test_a_matrix_that_is_only_moved_is_copied(mover: str, images: int) -> None:
    spec = EthosUCompileSpec("ethos-u85-256")
    builder = Builder(Graph(), spec.tosa_spec)
    graph, x = builder.graph, builder.graph.input("x", (images, 4, 1600), DType.INT8)
    parts = {
        "SLICE": lambda: builder.emit(mover, [x, graph.shape([0, 0, 3]), graph.shape([images, 4, 1500])]),
        "PAD": lambda: builder.emit(mover, [x, graph.shape([0, 0, 0, 0, 1, 2]), builder.zero_point(0, DType.INT8)]),
        "CONCAT": lambda: builder.emit(mover, [x, x], axis=2),
        "REVERSE": lambda: builder.emit(mover, [x], axis=2),
    }
    graph.outputs = [builder.emit("TRANSPOSE", [parts[mover]()], perms=(0, 2, 1))]
    plain, legal = before_and_after(builder, spec)
    assert cycles(legal, spec) < 0.3 * cycles(plain, spec)


@pytest.mark.parametrize("accelerator", ["ethos-u85-128", "ethos-u85-256", "ethos-u85-2048"])
@pytest.mark.parametrize("shape", [(1, 3, 257, 256), (1, 3, 299, 299), (1, 3, 480, 640), (1, 16, 257, 257)])
def test_a_matrix_of_more_rows_than_an_axis_may_have_is_not_made(shape: tuple[int, ...], accelerator: str) -> None:
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    x = builder.graph.input("x", shape, DType.INT8)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [x], perms=(0, 2, 3, 1))]
    plain, legal = before_and_after(builder, spec)
    assert all(max(op.inputs[0].shape) <= 65536 for op in builder.graph.ops)
    assert cycles(legal, spec) <= cycles(plain, spec)


@pytest.mark.parametrize("accelerator", ["ethos-u85-256", "ethos-u85-1024"])
@pytest.mark.parametrize(("rows", "width"), [(64, 64), (64, 256), (196, 128)])
@pytest.mark.parametrize("activation", [False, True])
def test_a_layer_is_copied_before_it_is_transposed(rows: int, width: int, activation: bool, accelerator: str) -> None:
    builder = _convolution((1, 1, rows, width), (1, 1), outputs=width)
    graph, spec = builder.graph, EthosUCompileSpec(accelerator)
    (made,) = graph.outputs
    if activation:
        made = builder.emit("TABLE", [made, graph.constant(np.arange(-128, 128)[::-1].astype(np.int8), DType.INT8)])
    graph.outputs = [builder.emit("TRANSPOSE", [made], perms=(0, 3, 1, 2))]
    plain, never = before_and_after(builder, spec)
    chosen = chosen_of(plain, spec)
    assert [op.name for op in load(chosen).ops].count("BITWISE_OR") == 1
    assert cycles(chosen, spec) < cycles(never, spec)


@pytest.mark.parametrize("accelerator", ["ethos-u85-128", "ethos-u85-256", "ethos-u85-2048"])
@pytest.mark.parametrize(("shape", "parts"), [((1, 2, 80000), 2), ((1, 16, 140000), 3), ((1, 80000, 20), 0)])
@pytest.mark.parametrize("twice", [False, True])
def test_rows_longer_than_an_axis_may_be_are_transposed_in_parts(
    shape: tuple[int, ...], parts: int, twice: bool, accelerator: str
) -> None:
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    x = builder.graph.input("x", shape, DType.INT8)
    builder.graph.outputs = [builder.emit("TRANSPOSE", [x], perms=(0, 2, 1))]
    if twice:
        builder.graph.outputs.append(builder.rescale(x, [0.5], DType.INT8))
    plain, legal = before_and_after(builder, spec)
    names = [op.name for op in builder.graph.ops]
    assert (names.count("SLICE"), names.count("TRANSPOSE")) == (parts, max(parts, 1))
    assert cycles(legal, spec) <= cycles(plain, spec) / (20 if parts else 1)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("op", ["MUL", "SUB", "ADD"])
@pytest.mark.parametrize("first", ["wide", "narrow"])
def test_operands_of_two_widths_become_operands_of_one(op: str, first: str, accelerator: str) -> None:
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    x, y = builder.graph.input("x", (1, 40, 16), DType.INT16), builder.graph.input("y", (1, 40, 1), DType.INT8)
    factors, last = ([1.0, 1.0], 2e-5) if op == "MUL" else ([512.0, 37.0 * 512], 6e-6)
    wide = builder.rescale(x, factors[:1], DType.INT32)
    narrow = builder.rescale(y, factors[1:], DType.INT32, zero_point=-128)
    shift = [builder.graph.constant(np.zeros(1, np.int8), DType.INT8)] if op == "MUL" else []
    made = builder.emit(op, [*((wide, narrow) if first == "wide" else (narrow, wide)), *shift])
    builder.graph.outputs = [builder.rescale(made, [last], DType.INT8, new_zero_point=-3)]
    plain, legal = before_and_after(builder, spec)
    (arithmetic,) = [o for o in builder.graph.ops if o.name == op]
    assert {x.producer.inputs[0].dtype for x in arithmetic.inputs[:2] if x.producer} == {DType.INT16}
    assert cycles(legal, spec) < 0.5 * cycles(plain, spec)


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
@pytest.mark.parametrize(
    ("own", "amounts", "number", "padding"),
    [
        ((0, 0, 0, 0), (0, 0, 1, 2, 2, 1, 0, 0), 3, (1, 2, 2, 1)),
        ((1, 1, 0, 0), (0, 0, 1, 0, 0, 1, 0, 0), 3, (2, 1, 0, 1)),
        ((0, 0, 0, 0), (0, 0, 1, 2, 2, 1, 0, 0), 2, None),  # the border is not the zero point
        ((0, 0, 0, 0), (0, 0, 1, 1, 1, 1, 1, 0), 3, None),  # of channels
        ((0, 0, 0, 0), (0, 0, 3, 0, 0, 0, 0, 0), 3, None),  # the first row of windows would see no image
    ],
)
def test_padding_before_a_convolution_becomes_its_own(
    op: str, own: tuple[int, ...], amounts: tuple[int, ...], number: int, padding: tuple[int, ...] | None
) -> None:
    channels = 4 + amounts[6]
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    x = graph.input("x", (1, 9, 8, 4), DType.INT8)
    edge = graph.constant(np.array([number], np.int8), DType.INT8)
    image = builder.emit("PAD", [x, graph.shape(amounts), edge])
    shape = (8, 3, 3, channels) if op == "CONV2D" else (3, 3, channels, 2)
    weight = graph.constant(rng.integers(-127, 128, shape).astype(np.int8), DType.INT8)
    bias = graph.constant(np.zeros(8 if op == "CONV2D" else 2 * channels, np.int32), DType.INT32)
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    wide = builder.emit(op, [image, weight, bias, *zeros], pad=own, stride=(1, 1), dilation=(1, 1))
    graph.outputs = [builder.rescale(wide, [0.002], DType.INT8)]
    plain, legal = before_and_after(builder)
    kept = [made for made in load(legal).ops if made.name in (op, "PAD")]
    if padding is None:
        assert "PAD" in [made.name for made in kept]
    else:
        assert [(made.name, made.attrs["pad"]) for made in kept] == [(op, padding)]
        assert cycles(legal) < cycles(plain)


@pytest.mark.parametrize(
    ("shape", "amounts", "image", "padding"),
    [
        ((1, 1, 24, 20), (0, 0, 0, 0, 1, 1, 2, 1), (1, 26, 23, 1), (1, 1, 2, 1)),  # one plane, as channels last
        ((24, 20, 4), (1, 2, 1, 1, 0, 0), (1, 27, 22, 4), (1, 2, 1, 1)),
        ((1, 12, 10, 8), (0, 0, 2, 0, 0, 0, 0, 0), (1, 14, 20, 4), (2, 0, 0, 0)),  # columns are parted, rows are not
        ((1, 12, 10, 8), (0, 0, 0, 0, 0, 2, 0, 0), (1, 12, 24, 4), None),  # it parts what is padded
        ((1, 24, 20, 4), (0, 0, 2, 0, 0, 0, 0, 0), (1, 13, 40, 4), None),
    ],
)
def test_padding_before_a_reshape_becomes_that_of_the_convolution(
    shape: tuple[int, ...], amounts: tuple[int, ...], image: tuple[int, ...], padding: tuple[int, ...] | None
) -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    edge = graph.constant(np.array([3], np.int8), DType.INT8)
    x = builder.emit("PAD", [graph.input("x", shape, DType.INT8), graph.shape(amounts), edge])
    x = builder.emit("RESHAPE", [x, graph.shape(image)])
    weight = graph.constant(rng.integers(-127, 128, (8, 3, 3, image[3])).astype(np.int8), DType.INT8)
    bias = graph.constant(np.zeros(8, np.int32), DType.INT32)
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    wide = builder.emit("CONV2D", [x, weight, bias, *zeros], pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1))
    graph.outputs = [builder.rescale(wide, [0.002], DType.INT8)]
    _, legal = before_and_after(builder)
    kept = [(made.name, made.attrs.get("pad")) for made in load(legal).ops if made.name in ("CONV2D", "PAD")]
    assert kept == ([("PAD", None), ("CONV2D", (0, 0, 0, 0))] if padding is None else [("CONV2D", padding)])
