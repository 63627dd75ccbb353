"""Rewrites that the estimate chooses: the same results wherever they are possible, and made where they are faster."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rewrite_kit import cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.estimate import Estimate
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.rewrites.by_estimate import Choice
from arm_ethosu.rewrites.catalogue import ROWS
from arm_ethosu.rewrites.conv2d_of_few_channels import COLUMNS_AS_CHANNELS, ROWS_AS_CHANNELS
from arm_ethosu.rewrites.conv2d_of_whole_image import WHOLE_IMAGE
from arm_ethosu.rewrites.conv2d_over_patches import OVERLAPPING_PATCHES_U85
from arm_ethosu.rewrites.graph_parts import around, part
from arm_ethosu.rewrites.moves_of_layouts import MOVE_BEFORE_LAYOUT, MOVE_BEHIND_LAYOUT
from arm_ethosu.rewrites.turned_images import TURNED_IMAGES
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, observed, run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.text import text

SPEC = EthosUCompileSpec("ethos-u55-128")
_NUMPY = {DType.INT8: np.int8, DType.INT16: np.int16}


def _convolution(
    builder: Builder,
    image: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    outputs: int = 6,
    seed: int = 0,
) -> Tensor:
    """CONV2D and the RESCALE of each channel behind it; the zero point of an INT8 image is 3."""
    graph, rng, dtype = builder.graph, np.random.default_rng(seed), image.dtype
    narrow = dtype is DType.INT8
    weight = rng.integers(-127, 128, (outputs, *kernel, image.shape[3])).astype(np.int8)
    bias = rng.integers(-999, 999, outputs).astype(np.int32 if narrow else np.int64)
    wide = builder.emit(
        "CONV2D",
        [
            image,
            graph.constant(weight, DType.INT8),
            graph.constant(bias, DType.INT32 if narrow else DType.INT48),
            builder.zero_point(3 if narrow else 0, dtype),
            builder.zero_point(0, DType.INT8),
        ],
        pad=tuple(pad),
        stride=tuple(stride),
        dilation=(1, 1),
        acc_type=DType.INT32 if narrow else DType.INT48,
    )
    scales = [(0.002 if narrow else 0.0005) * (1 + i / outputs) for i in range(outputs)]
    return builder.rescale(wide, scales, dtype)


def _builder() -> Builder:
    return Builder(Graph(), SPEC.tosa_spec)


def _same_results(graph: Graph, choice: Choice, times: int = 1) -> None:
    """The choice is made ``times`` times, wherever it is possible, and nothing changes."""
    plain = serialize(graph, SPEC.tosa_spec)
    rng = np.random.default_rng(1)
    data = []
    for x in graph.inputs:
        limits = np.iinfo(_NUMPY[x.dtype])
        data.append(rng.integers(limits.min, limits.max + 1, x.shape).astype(limits.dtype))
    changed = load(plain)
    made = [op for op in list(changed.ops) if choice.always.apply(changed, op)]
    assert len(made) == times
    changed.sweep()
    results = [run(tosa, data)[0] for tosa in (serialize(changed, SPEC.tosa_spec), plain)]
    np.testing.assert_array_equal(*results)
    assert len(np.unique(results[0])) > 10


def _pad(size: int, kernel: int, stride: int, before: int) -> tuple[int, int]:
    """``before``, and what TOSA then asks for behind."""
    after = before
    while (size - kernel + before + after) % stride:
        after += 1
    return before, after


@pytest.mark.parametrize("dtype", _NUMPY)
@pytest.mark.parametrize(("batch", "width"), [(1, 11), (2, 12), (2, 13)])
@pytest.mark.parametrize("stride", [(1, 2), (2, 2), (3, 2), (2, 3), (4, 4)])
@pytest.mark.parametrize("kernel", [(1, 1), (1, 2), (2, 3), (3, 4), (3, 5), (2, 6), (7, 7)])
def test_columns_become_channels(
    kernel: tuple[int, int], stride: tuple[int, int], batch: int, width: int, dtype: DType
) -> None:
    for before in range(min(3, kernel[1])):
        builder = _builder()
        image = builder.graph.input("x", (batch, 9, width, 3), dtype)
        pad = _pad(9, kernel[0], stride[0], min(1, kernel[0] - 1)) + _pad(width, kernel[1], stride[1], before)
        builder.graph.outputs = [_convolution(builder, image, kernel, stride, pad)]
        _same_results(builder.graph, COLUMNS_AS_CHANNELS)


@pytest.mark.parametrize("kernel", [(2, 5), (5, 4), (7, 7)])
def test_overlapping_patches_become_channels(kernel: tuple[int, int]) -> None:
    builder = _builder()
    image = builder.graph.input("x", (2, 12, 13, 3), DType.INT8)
    pad = _pad(12, kernel[0], 4, 1) + _pad(13, kernel[1], 5, 2)
    builder.graph.outputs = [_convolution(builder, image, kernel, (4, 5), pad)]
    _same_results(builder.graph, OVERLAPPING_PATCHES_U85)


@pytest.mark.parametrize("dtype", _NUMPY)
@pytest.mark.parametrize(("batch", "height"), [(1, 11), (2, 12), (2, 13)])
@pytest.mark.parametrize("stride", [2, 4])
@pytest.mark.parametrize("kernel", [(1, 1), (2, 3), (3, 2), (4, 3), (5, 1), (6, 2), (7, 4)])
def test_rows_become_channels(kernel: tuple[int, int], stride: int, batch: int, height: int, dtype: DType) -> None:
    for before in range(min(3, kernel[0])):
        builder = _builder()
        image = builder.graph.input("x", (batch, height, 7, 5), dtype)
        pad = (*_pad(height, kernel[0], stride, before), int(kernel[1] > 1), 0)
        builder.graph.outputs = [_convolution(builder, image, kernel, (stride, 1), pad)]
        _same_results(builder.graph, ROWS_AS_CHANNELS)


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
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (2, 12, 12, 3), DType.INT8)
    part = builder.emit("SLICE", [image, graph.shape(start), graph.shape(size)])
    graph.outputs = [_convolution(builder, part, kernel, (2, 2), pad)]
    _same_results(graph, COLUMNS_AS_CHANNELS)
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
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (1, 13, 13, channels), DType.INT8)
    graph.outputs = [_convolution(builder, image, (3, 3), (1, 1), (0, 0, 0, 0))]
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
    made = _convolution(builder, x, (3, 1), (1, 1), (1, 1, 0, 0))
    row = graph.constant(
        np.random.default_rng(5).integers(-99, 99, (1, made.shape[1], 1, 6)).astype(np.int32), DType.INT32
    )
    made = builder.rescale(builder.emit("ADD", [builder.rescale(made, [1.0], DType.INT32), row]), [0.5], DType.INT8)
    made = builder.emit("MAX_POOL2D", [made], kernel=(2, 1), stride=(2, 1), pad=(0, made.shape[1] % 2, 0, 0))
    return builder.emit("CONCAT", [made, builder.emit("REVERSE", [made], axis=1)], axis=1)


def _padded_part(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    x = builder.emit("SLICE", [x, graph.shape((0, 4, 0, 0)), graph.shape((2, 13, x.shape[2], 3))])
    x = builder.emit("PAD", [x, graph.shape((0, 0, 2, 5, 0, 0, 0, 0)), builder.zero_point(7, DType.INT8)])
    return _convolution(builder, x, (4, 1), (2, 1), (1, 1, 0, 0))


def _averaged(graph: Graph, builder: Builder, x: Tensor) -> Tensor:
    made = _convolution(builder, x, (3, 2), (1, 1), (2, 0, 1, 0))
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
    builder = _builder()
    graph = builder.graph
    graph.outputs = [_HIGH[name](graph, builder, graph.input("x", (2, 21, width, 3), DType.INT8))]
    _same_results(graph, TURNED_IMAGES)
    assert [op for op in list(graph.ops) if TURNED_IMAGES.always.apply(graph, op)]
    graph.sweep()
    moved = [op for op in graph.ops if op.name == ("RESHAPE" if width == 1 else "TRANSPOSE")]
    assert [moved[0].position, moved[-1].position] == [graph.ops[0].position, list(graph.ops)[-1].position]
    assert len(moved) == 2, "one before all and one behind, and none between"


@pytest.mark.parametrize(
    ("shape", "constant"), [((1, 8, 21, 3), True), ((1, 12, 12, 3), True), ((1, 1, 1, 3), True), ((1, 21, 1, 3), False)]
)
def test_other_images_are_not_turned(shape: tuple[int, ...], constant: bool) -> None:
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", shape, DType.INT8)
    graph.outputs = [_convolution(builder, image, (1, 1), (1, 1), (0, 0, 0, 0))]
    if not constant:
        op = _only(graph, "CONV2D")
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
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (2, 12, 14, 5), DType.INT8)
    part = builder.emit("SLICE", [image, graph.shape(start), graph.shape(size)])
    graph.outputs = [_convolution(builder, part, kernel, stride, pad)]
    _same_results(graph, WHOLE_IMAGE, times)


@pytest.mark.parametrize(("size", "channels", "kernel"), [(16, 32, (2, 2)), (32, 16, (1, 1))])
def test_a_shortcut_is_of_the_whole_image_where_that_is_faster(
    size: int, channels: int, kernel: tuple[int, int]
) -> None:
    """The block of a ResNet that halves an image: 1x1 with a stride of 2 beside 3x3, which reads all of it."""
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (1, size, size, channels), DType.INT8)
    whole = _convolution(builder, image, (3, 3), (1, 1), (1, 1, 1, 1), channels)
    part = builder.emit("SLICE", [whole, graph.shape((0,) * 4), graph.shape((1, size - 1, size - 1, channels))])
    shortcut = _convolution(builder, part, (1, 1), (2, 2), (0, 0, 0, 0), 2 * channels)
    graph.outputs = [shortcut, _convolution(builder, whole, (3, 3), (2, 2), (1, 0, 1, 0), 2 * channels)]
    chosen = legalize(graph, EthosUCompileSpec("ethos-u85-512").target())
    strided = [op for op in chosen.ops if op.name == "CONV2D" and op.attrs["stride"] == (2, 2)]
    assert strided[0].inputs[1].shape[1:3] == kernel


_MOVES: dict[str, tuple[list[list[int]], dict[str, int]]] = {
    "SLICE": ([[0, 1, 2, 3], [1, 18, 19, 15]], {}),
    "PAD": ([[0, 0, 1, 2, 3, 0, 0, 4]], {}),
    "REVERSE": ([], {"axis": 2}),
}


@pytest.mark.parametrize("perms", [(0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 1, 3), (3, 0, 2, 1)])
@pytest.mark.parametrize("name", _MOVES)
@pytest.mark.parametrize("choice", [MOVE_BEHIND_LAYOUT, MOVE_BEFORE_LAYOUT], ids=lambda c: c.name)
def test_moves_and_changes_of_layout_change_places(choice: Choice, name: str, perms: tuple[int, ...]) -> None:
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (1, 20, 22, 19), DType.INT8)
    shapes, attrs = _MOVES[name]

    def moved(x: Tensor) -> Tensor:
        zero = [builder.zero_point(5, DType.INT8)] if name == "PAD" else []
        return builder.emit(name, [x, *map(graph.shape, shapes), *zero], **attrs)

    def turned(x: Tensor) -> Tensor:
        return builder.emit("TRANSPOSE", [x], perms=perms)

    if choice is MOVE_BEHIND_LAYOUT:
        graph.outputs = [turned(moved(image))]
    else:
        shapes = [_fitting(shape, perms) for shape in shapes]
        attrs = {key: perms.index(axis) for key, axis in attrs.items()}
        graph.outputs = [moved(turned(image))]
    _same_results(graph, choice)


def _fitting(shape: Sequence[int], perms: Sequence[int]) -> list[int]:
    """A shape, or pairs, in the order of other axes."""
    each = len(shape) // len(perms)
    return [n for axis in perms for n in shape[each * axis : each * (axis + 1)]]


def _layer(size: int, kernel: int, outputs: int, pad: int, cut: int = 0, seed: int = 0, stride: int = 2) -> Graph:
    """A network's first layer of 3 channels, in PyTorch's order of axes."""
    builder = _builder()
    graph = builder.graph
    image = graph.input("x", (1, 3, size, size), DType.INT8)
    if cut:
        image = builder.emit("SLICE", [image, graph.shape((0,) * 4), graph.shape((1, 3, size - cut, size - cut))])
    image = builder.emit("TRANSPOSE", [image], perms=(0, 2, 3, 1))
    around = _pad(size - cut, kernel, stride, pad) * 2
    graph.outputs = [_convolution(builder, image, (kernel, kernel), (stride, stride), around, outputs, seed)]
    return graph


def _names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


@pytest.mark.parametrize(
    ("accelerator", "layer", "folded"),
    [
        ("ethos-u55-128", (64, 7, 64, 3), True),  # ResNet
        ("ethos-u85-256", (64, 7, 64, 3), True),
        ("ethos-u85-256", (60, 11, 64, 2, 0, 0, 4), True),  # AlexNet
        ("ethos-u55-128", (96, 3, 8, 1), False),  # MobileNetV1-0.25
    ],
)
def test_the_faster_form_is_chosen(accelerator: str, layer: tuple[int, ...], folded: bool) -> None:
    plain, chosen = _legalized(accelerator, layer)
    assert (_only(chosen, "CONV2D").attrs["stride"][1] == 1) is folded
    if not folded:
        assert _names(chosen) == _names(plain)


@pytest.mark.parametrize(
    ("accelerator", "image", "kernel", "stride", "pad", "chosen"),
    [
        # Columns first and rows behind them make the kernel larger where padding is no whole patch, and take longer.
        ("ethos-u85-256", (99, 99, 1), (11, 11), (4, 4), (0, 0), ["overlapping_patches_u85", "plane_moved"]),
        ("ethos-u85-256", (96, 96, 3), (11, 11), (4, 4), (2, 2), ["columns_as_channels", "rows_as_channels"]),
        # A PAD takes longer than rows of zeros in the kernel: torchcrepe's first layer, smaller.
        ("ethos-u85-256", (256, 1, 1), (62, 1), (4, 1), (30, 0), ["rows_as_channels", "turned_images"]),
        ("ethos-u55-128", (256, 1, 8), (64, 1), (1, 1), (31, 0), ["turned_images"]),
        ("ethos-u55-128", (24, 5, 32), (3, 3), (1, 1), (1, 1), []),  # the TRANSPOSEs take longer
    ],
)
def test_the_best_of_several_forms_is_chosen(
    accelerator: str, image: tuple[int, ...], kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int],
    chosen: list[str],
) -> None:  # fmt: skip
    builder = _builder()
    x = builder.graph.input("x", (1, *image), DType.INT8)
    around = [n for axis in (0, 1) for n in _pad(image[axis], kernel[axis], stride[axis], pad[axis])]
    builder.graph.outputs = [_convolution(builder, x, kernel, stride, around, 32)]
    with observed(watcher := _Applied()):
        legalize(builder.graph, EthosUCompileSpec(accelerator).target())
    names = {row.rewrite.name for row in ROWS if isinstance(row.rewrite, Choice)}
    assert [name for name in watcher.names if name in names] == chosen


class _Applied(Observer):
    """Keeps the names of the rewrites that are made."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def applied(self, graph: Graph, application: Application) -> None:
        self.names.append(application.rewrite.name)


def test_what_is_cut_off_is_cut_behind_the_transpose() -> None:
    plain, chosen = (_names(graph) for graph in _legalized("ethos-u55-128", (64, 3, 32, 0, 1)))
    assert plain.index("SLICE") < plain.index("TRANSPOSE")
    assert chosen.index("SLICE") > chosen.index("TRANSPOSE")


def _legalized(accelerator: str, layer: tuple[int, ...]) -> list[Graph]:
    """The layer without choices, and with those that are made, which take no more cycles."""
    spec = EthosUCompileSpec(accelerator)
    target = spec.target()
    targets = (replace(target, rewrites=rewrites_for(accelerator)), target)
    made = [legalize(_layer(*layer), target) for target in targets]
    before, after = (serialize(graph, spec.tosa_spec) for graph in made)
    assert before == after or cycles(after, spec) < cycles(before, spec)
    return made


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_any_order_gives_the_same_choices(accelerator: str) -> None:
    """Of two that depend on one another: columns are a view only where what is cut off is cut behind the TRANSPOSE."""
    rewrites = [*REWRITES, *EthosUCompileSpec(accelerator).target().rewrites]
    made = set()
    for seed in range(6):
        random.Random(seed).shuffle(rewrites)
        named = [replace(rewrite, name=f"{i:03}") for i, rewrite in enumerate(rewrites)]  # names are the order
        graph = _layer(64, 3, 32, 0, 1)
        for stage in (Stage.OPTIMIZE, Stage.LEGALIZE):
            run_rewrites(graph, [rewrite for rewrite in named if rewrite.stage <= stage])
        made.add(text(graph, origins=False))
    assert len(made) == 1


def _only(graph: Graph, name: str) -> Op:
    (op,) = (op for op in graph.ops if op.name == name)
    return op


def _around(graph: Graph, op: Op) -> Graph:
    return part(graph, around(graph, op))[0]


def test_the_estimate_is_asked_about_shapes_not_about_numbers() -> None:
    layers = [_layer(32, 3, 8, 1, seed=seed) for seed in (0, 1)]
    asked = [serialize(_around(graph, _only(graph, "CONV2D")), SPEC.tosa_spec) for graph in layers]
    assert asked[0] == asked[1]
    assert serialize(layers[0], SPEC.tosa_spec) != serialize(layers[1], SPEC.tosa_spec)


def test_pools_stand_for_neighbours() -> None:
    """Of what makes the image, and of what else reads it and the result."""
    builder = _builder()
    graph = builder.graph
    x = graph.input("x", (1, 12, 12, 3), DType.INT8)
    image = builder.emit("MAX_POOL2D", [x], kernel=(2, 2), stride=(1, 1), pad=(0, 1, 0, 1))
    made = _convolution(builder, image, (3, 3), (2, 2), (0, 1, 0, 1))
    graph.outputs = [builder.emit("REVERSE", [image], axis=1), builder.emit("REVERSE", [made], axis=1)]
    small = _around(graph, _only(graph, "CONV2D"))
    assert _names(small) == ["MAX_POOL2D", "MAX_POOL2D", "CONV2D", "RESCALE", "MAX_POOL2D"]
    assert [output.shape for output in small.outputs] == [(1, 6, 6, 6), (1, 12, 12, 3)]


def _estimate(**options: object) -> Estimate:
    named = {"accelerator": SPEC.accelerator, "config": SPEC.config_ini, "system_config": SPEC.system_config}
    return Estimate({**named, "memory_mode": SPEC.memory_mode, "flags": (), "timeout": 300.0, **options})


def test_figures_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    tosa = serialize(_layer(32, 3, 8, 1), SPEC.tosa_spec)
    (figure,) = _estimate().cycles([tosa])
    assert figure == cycles(tosa)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_text("7.0")
    assert _estimate().cycles([tosa, tosa]) == [7.0, 7.0]
    assert _estimate(timeout=200.0).cycles([tosa]) == [7.0]
    assert _estimate(accelerator="ethos-u55-256").cycles([tosa]) not in ([7.0], [figure])
    file.write_text("cut sho")
    assert _estimate().cycles([tosa]) == [figure] == [float(file.read_text())]


def test_what_vela_refuses_has_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    assert _estimate().cycles([b"no flatbuffer"]) == [None]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_without_vela_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _layer(64, 7, 64, 3)
    target = SPEC.target()
    monkeypatch.setattr("arm_ethosu.estimate._release", lambda: None)
    assert _only(legalize(graph, target), "CONV2D").attrs["stride"] == (2, 2)
