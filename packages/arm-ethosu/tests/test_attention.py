"""Attention in the form that takes Vela the fewest cycles, or the least memory: the same results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from rewrite_kit import before_and_after, chosen_of, cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.rewrites.attention_heads import HEADS_SIDE_BY_SIDE
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

_U85 = EthosUCompileSpec("ethos-u85-256")


def _attention(count: int, rows: int, columns: int, width: int, *, biased: bool = False) -> Builder:
    """Scores of [count, rows, width] by itself, less their maximum, a table of that, and the product with values."""
    builder = Builder(Graph(), EthosUCompileSpec("ethos-u85-256").tosa_spec)
    graph, rng = builder.graph, np.random.default_rng(0)
    query = graph.input("x", (count, rows, width), DType.INT8)
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    key, value = (
        graph.constant(rng.integers(-128, 128, shape).astype(np.int8), DType.INT8)
        for shape in ((count, width, columns), (count, columns, width))
    )
    scores = builder.rescale(builder.emit("MATMUL", [query, key, *zeros]), [0.002], DType.INT8)
    scores = builder.emit("RESHAPE", [scores, graph.shape((1, count, rows, columns))])
    if biased:
        bias = graph.constant(rng.integers(-9, 9, (1, count, rows, columns)).astype(np.int32), DType.INT32)
        wide = builder.emit("ADD", [builder.rescale(scores, [1.0], DType.INT32), bias])
        scores = builder.rescale(wide, [1.0], DType.INT8)
    largest = builder.rescale(builder.emit("REDUCE_MAX", [scores], axis=3), [1.0], DType.INT32)
    wide = builder.emit("SUB", [builder.rescale(scores, [1.0], DType.INT32), largest])
    table = graph.constant(np.linspace(-128, 127, 256).astype(np.int8)[::-1].copy(), DType.INT8)
    shares = builder.emit("TABLE", [builder.rescale(wide, [0.5], DType.INT8), table])
    shares = builder.emit("RESHAPE", [shares, graph.shape((count, rows, columns))])
    wide = builder.emit("MATMUL", [shares, value, *zeros])
    graph.outputs = [builder.rescale(wide, [0.001], DType.INT8)]
    return builder


@pytest.mark.parametrize(
    ("count", "rows", "columns", "biased", "parts"),
    [
        (3, 700, 600, True, 2),  # two matrices, then one
        (1, 2100, 2100, False, 2),  # one that is large: half of its rows each
        (1, 1100, 1000, False, 1),  # one that is not
        (8, 100, 100, False, 1),
    ],
    ids=["matrices", "rows", "one", "small"],
)
def test_attention_is_computed_in_parts(count: int, rows: int, columns: int, biased: bool, parts: int) -> None:
    builder = _attention(count, rows, columns, 2, biased=biased)
    spec = EthosUCompileSpec("ethos-u85-256")
    plain = serialize(builder.graph, spec.tosa_spec)
    legal = serialize(legalize(builder.graph, spec.target()), spec.tosa_spec)
    assert [op.name for op in builder.graph.ops].count("TABLE") == parts
    data = np.random.default_rng(1).integers(-128, 128, (count, rows, 2)).astype(np.int8)
    made = run(legal, [data])[0]
    np.testing.assert_array_equal(made, run(plain, [data])[0])
    assert np.unique(made).size > 9


def test_attention_whose_scores_are_read_elsewhere_stays_whole() -> None:
    builder = _attention(3, 700, 600, 2)
    builder.graph.outputs.append(next(op for op in builder.graph.ops if op.name == "TABLE").output)
    legalize(builder.graph, EthosUCompileSpec("ethos-u85-256").target())
    assert [op.name for op in builder.graph.ops].count("TABLE") == 1


@pytest.mark.parametrize(
    ("count", "rows", "columns", "width", "biased", "again"),
    [
        (3, 100, 100, 16, False, True),
        (2, 70, 90, 16, True, False),  # a number to add for each score
        (1, 80, 300, 16, False, True),
        (2, 80, 300, 16, False, False),  # no one pool has windows of 300, and Vela's own loses its place
        (3, 63, 63, 8, False, False),  # small
        (1, 1100, 90, 8, False, False),  # rows so many that Vela takes long to transpose them
        (2, 100, 100, 64, False, False),  # to transpose its factors takes longer
    ],
)
def test_the_maximum_of_rows_is_that_of_columns_computed_again(
    count: int, rows: int, columns: int, width: int, biased: bool, again: bool
) -> None:
    builder = _attention(count, rows, columns, width, biased=biased)
    plain, legal = before_and_after(builder, _U85)
    assert [op.name for op in builder.graph.ops].count("MATMUL") == (3 if again else 2)
    if again:
        assert [op.name for op in builder.graph.ops].count("REDUCE_MAX") == 0
        assert cycles(legal, _U85) < 0.7 * cycles(plain, _U85)


def _head(
    builder: Builder, x: Tensor, shape: Sequence[int], heads: int, perms: tuple[int, ...], stride: int = 1
) -> Tensor:
    """A linear layer, of an image of any shape, and its heads: [heads, tokens, size] or [heads, size, tokens]."""
    graph, width = builder.graph, x.shape[-1]
    weight = graph.constant(np.random.default_rng(len(graph.ops)).integers(-127, 128, (width, 1, 1, width)), DType.INT8)
    bias = graph.constant(np.arange(width, dtype=np.int32) * 99, DType.INT32)
    scales = [0.0005 + 0.00001 * channel for channel in range(width)]
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    image = builder.emit("RESHAPE", [x, graph.shape((*shape, width))])
    attrs = {"pad": (0, 0, 0, 0), "stride": (stride, stride), "dilation": (1, 1)}
    made = builder.rescale(builder.emit("CONV2D", [image, weight, bias, *zeros], **attrs), scales, DType.INT8)
    made = builder.emit("RESHAPE", [made, graph.shape((1, made.size // width, heads, width // heads))])
    made = builder.emit("TRANSPOSE", [made], perms=perms)
    return builder.emit("RESHAPE", [made, graph.shape(made.shape[1:])])


@pytest.mark.parametrize(
    ("shape", "width", "heads", "convolutions"),
    [
        ((1, 1, 65), 64, 4, 6),  # small keys are of columns
        ((1, 5, 13), 64, 4, 6),
        ((1, 1, 32), 64, 2, 4),  # columns are as many as rows
        ((1, 1, 197), 64, 2, 4),
        ((1, 1, 65), 64, 1, 3),  # one head is the matrix itself
        ((1, 1, 64), 512, 8, 3),  # a convolution for each takes longer
    ],
)
def test_heads_are_made_where_they_belong(shape: tuple[int, ...], width: int, heads: int, convolutions: int) -> None:
    builder = Builder(Graph(), _U85.tosa_spec)
    graph, tokens = builder.graph, shape[1] * shape[2]
    x = graph.input("x", (1, tokens, width), DType.INT8)
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    query, key, value = (_head(builder, x, shape, heads, perms) for perms in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
    scores = builder.rescale(builder.emit("MATMUL", [query, key, *zeros]), [0.002], DType.INT8)
    graph.outputs = [builder.rescale(builder.emit("MATMUL", [scores, value, *zeros]), [0.004], DType.INT8)]
    plain = serialize(graph, _U85.tosa_spec)
    chosen, never = chosen_of(plain, _U85), before_and_after(builder, _U85)[1]
    assert [op.name for op in load(chosen).ops].count("CONV2D") == convolutions
    assert cycles(chosen, _U85) < cycles(never, _U85) or convolutions == 3


@pytest.mark.parametrize("accelerator", ["ethos-u85-256", "ethos-u85-1024"])
def test_keys_of_one_head_that_two_products_read_are_not_copied_as_layers_are(accelerator: str) -> None:
    """The scores are computed twice, for their maxima: the second product reads the keys as they were."""
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    graph = builder.graph
    x = graph.input("x", (1, 256, 64), DType.INT8)
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    query, key = (
        builder.emit("RESHAPE", [_head(builder, x, (1, 16, 16), 1, (0, 1, 2, 3)), graph.shape((1, 256, 64))])
        for _ in range(2)
    )
    key = builder.emit("TRANSPOSE", [key], perms=(0, 2, 1))
    scores = builder.rescale(builder.emit("MATMUL", [query, key, *zeros]), [0.002], DType.INT8)
    largest = builder.rescale(builder.emit("REDUCE_MAX", [scores], axis=2), [1.0], DType.INT32)
    wide = builder.emit("SUB", [builder.rescale(scores, [1.0], DType.INT32), largest])
    graph.outputs = [builder.rescale(wide, [0.5], DType.INT8)]
    plain = serialize(graph, spec.tosa_spec)
    chosen, never = chosen_of(plain, spec), before_and_after(builder, spec)[1]
    products = [op.name for op in load(chosen).ops].count("MATMUL")
    assert products == 2 and cycles(chosen, spec) <= cycles(never, spec)


def _side_by_side(shape: Sequence[int]) -> Builder:
    """What two products make of heads [heads, tokens, size], put side by side for a linear layer."""
    builder = Builder(Graph(), _U85.tosa_spec)
    graph, (heads, tokens, size) = builder.graph, shape
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    shares, values = graph.input("p", (heads, tokens, 32), DType.INT8), graph.input("v", (heads, 32, size), DType.INT8)
    made = builder.rescale(builder.emit("MATMUL", [shares, values, *zeros]), [0.002], DType.INT8)
    made = builder.emit("TRANSPOSE", [made], perms=(1, 0, 2))
    made = builder.emit("RESHAPE", [made, graph.shape((1, 1, tokens, heads * size))])
    weight = graph.constant(np.ones((16, 1, 1, heads * size), np.int8), DType.INT8)
    bias = graph.constant(np.zeros(16, np.int32), DType.INT32)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    made = builder.emit("CONV2D", [made, weight, bias, *zeros], **attrs)
    graph.outputs = [builder.rescale(made, [0.004], DType.INT8)]
    return builder


@pytest.mark.parametrize(
    ("shape", "copied"),
    [
        ((2, 128, 64), True),
        ((4, 256, 36), True),
        ((2, 32, 32), False),  # moves little: not asked about
        ((32, 128, 64), False),  # many: not asked about
    ],
)
def test_a_few_heads_are_copied_side_by_side(shape: tuple[int, ...], copied: bool) -> None:
    builder = _side_by_side(shape)
    plain, _ = before_and_after(builder, _U85)
    chosen = chosen_of(plain, _U85)
    assert [op.name for op in load(chosen).ops].count("TRANSPOSE") == (0 if copied else 1)
    if copied:
        assert cycles(chosen, _U85) < cycles(plain, _U85)


@pytest.mark.parametrize("shape", [(2, 64, 64), (8, 128, 64), (16, 64, 32)])
def test_between_the_limits_the_estimate_says_whether_heads_are_copied(shape: tuple[int, ...]) -> None:
    """Neither form is right for all of these: what is made is never slower than the other form."""
    plain = serialize(_side_by_side(shape).graph, _U85.tosa_spec)
    chosen, never, always = (
        serialize(legalize(load(plain), replace(_U85.target(), rewrites=rewrites)), _U85.tosa_spec)
        for rewrites in (
            _U85.target().rewrites,
            rewrites_for(_U85.accelerator),
            (*rewrites_for(_U85.accelerator), HEADS_SIDE_BY_SIDE.always),
        )
    )
    assert cycles(chosen, _U85) == min(cycles(never, _U85), cycles(always, _U85))


@pytest.mark.parametrize("other", ["read twice", "not a layer", "every other position", "many"])
def test_heads_of_anything_else_stay(other: str) -> None:
    builder = Builder(Graph(), _U85.tosa_spec)
    graph = builder.graph
    x = graph.input("x", (1, 65, 64), DType.INT8)
    if other == "read twice":
        query = _head(builder, x, (1, 1, 65), 4, (0, 2, 1, 3))
        scaled = next(op.output for op in graph.ops if op.name == "RESCALE")
        graph.outputs = [query, builder.emit("RESHAPE", [scaled, graph.shape((65, 64))])]
    elif other == "every other position":
        graph.outputs = [_head(builder, graph.input("y", (1, 81, 64), DType.INT8), (1, 9, 9), 4, (0, 2, 1, 3), 2)]
    elif other == "many":
        graph.outputs = [_head(builder, graph.input("y", (1, 65, 256), DType.INT8), (1, 1, 65), 32, (0, 2, 1, 3))]
    else:
        split = builder.emit("RESHAPE", [x, graph.shape((1, 65, 4, 16))])
        graph.outputs = [builder.emit("TRANSPOSE", [split], perms=(0, 2, 1, 3))]
    chosen = chosen_of(serialize(graph, _U85.tosa_spec), _U85)
    (made,) = [op for op in load(chosen).ops if op.name == "TRANSPOSE"]
    assert made.attrs["perms"] == (0, 2, 1, 3)
