"""Sums over whole images in columns: the same results, and fewer cycles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from choice_kit import convolution, new_builder
from rewrite_kit import cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.rewrites.sums_of_images import SUMS_IN_COLUMNS, SUMS_IN_COLUMNS_U85
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

U55, U85 = EthosUCompileSpec("ethos-u55-128"), EthosUCompileSpec("ethos-u85-256")


def _average(builder: Builder, image: Tensor, kernel: Sequence[int], pad: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    zeros = builder.zero_point(3, DType.INT8), builder.zero_point(-5, DType.INT8)
    attrs = {"kernel": tuple(kernel), "stride": (1, 1), "pad": tuple(pad), "acc_type": DType.INT32}
    return builder.emit("AVG_POOL2D", [image, *zeros], **attrs)


def _mean(builder: Builder, image: Tensor, weight: int = 1, bias: int = 0) -> Tensor:
    graph, (height, width, channels) = builder.graph, image.shape[1:]
    ones = graph.constant(np.full((height, width, channels, 1), weight, np.int8), DType.INT8)
    first = graph.constant(np.full(1, bias, np.int32), DType.INT32)
    zeros = builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT32}
    total = builder.emit("DEPTHWISE_CONV2D", [image, ones, first, *zeros], **attrs)
    return builder.rescale(total, [7.3 / (height * width)], DType.INT8)


def _graph(size: Sequence[int], kind: str = "pool", batch: int = 1) -> Graph:
    builder = new_builder()
    builder.graph.outputs = [image] = [builder.graph.input("x", (batch, *size), DType.INT8)]
    if kind in ("layer", "read twice"):
        image = convolution(builder, image, (1, 1), (1, 1), (0, 0, 0, 0), size[2])
    kernel = (size[0] - 1, size[1]) if kind == "smaller window" else tuple(size[:2])
    made = {"mean": lambda: _mean(builder, image), "twice": lambda: _mean(builder, image, 2)}
    result = made.get(kind, lambda: _average(builder, image, kernel))()
    builder.graph.outputs = [result, image] if kind == "read twice" else [result]
    return builder.graph


@pytest.mark.parametrize("kind", ["pool", "mean", "layer"])
@pytest.mark.parametrize(
    ("size", "rewrite"),
    [
        ((7, 7, 64), SUMS_IN_COLUMNS),
        ((7, 7, 128), SUMS_IN_COLUMNS_U85),  # in one window
        ((8, 8, 16), SUMS_IN_COLUMNS_U85),
        ((5, 9, 24), SUMS_IN_COLUMNS),  # columns of 8 channels
        ((25, 5, 64), SUMS_IN_COLUMNS),  # an odd number of sums
        ((23, 2, 16), SUMS_IN_COLUMNS),
        ((33, 9, 32), SUMS_IN_COLUMNS_U85),
        ((1, 40, 16), SUMS_IN_COLUMNS),
    ],
)
def test_sums_are_the_same_in_columns(size: Sequence[int], rewrite: Choice, kind: str) -> None:
    graph = _graph(size, kind)
    plain = serialize(graph, U55.tosa_spec)
    changed = load(plain)
    assert sum(rewrite.always.apply(changed, op) for op in list(changed.ops)) == 1
    changed.sweep()
    assert "AVG_POOL2D" not in [op.name for op in changed.ops]
    extremes = [np.full((1, *size), number, np.int8) for number in (-128, 127)]
    rng = np.random.default_rng(0)
    for image in [*extremes, *(rng.integers(-128, 128, (1, *size)).astype(np.int8) for _ in range(3))]:
        results = [run(tosa, [image])[0] for tosa in (serialize(changed, U55.tosa_spec), plain)]
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("size", "kind", "batch"),
    [
        ((7, 7, 64), "smaller window", 1),
        ((7, 7, 64), "twice", 1),  # weights that are not 1
        ((7, 7, 64), "read twice", 1),
        ((7, 7, 60), "pool", 1),
        ((67, 1, 64), "pool", 1),  # a prime number of pixels, more than a window has
        ((7, 7, 64), "pool", 2),
    ],
)
def test_what_else_stays_as_it_is(size: Sequence[int], kind: str, batch: int) -> None:
    graph = _graph(size, kind, batch)
    assert not [op for op in list(graph.ops) if SUMS_IN_COLUMNS.always.apply(graph, op)]


def test_on_u85_columns_have_16_channels() -> None:
    graph = _graph((7, 7, 24))
    assert not [op for op in list(graph.ops) if SUMS_IN_COLUMNS_U85.always.apply(graph, op)]


def test_a_small_pool_that_is_faster_as_it_is_stays() -> None:
    """As in the network of ``tests/models`` for digits."""
    made = legalize(_graph((4, 4, 32), "layer"), U55.target())
    assert "AVG_POOL2D" in [op.name for op in made.ops]


@pytest.mark.parametrize("spec", [U55, U85], ids=lambda spec: spec.accelerator)
@pytest.mark.parametrize("kind", ["layer", "mean"])
def test_they_are_at_least_twice_as_fast(kind: str, spec: EthosUCompileSpec) -> None:
    graph = _graph((14, 14, 64), kind)
    plain = serialize(graph, spec.tosa_spec)
    (rewrite,) = (row for row in spec.target().rewrites if row.name == "sums_in_columns")
    assert sum(rewrite.apply(graph, op) for op in list(graph.ops)) == 1
    graph.sweep()
    saved = cycles(plain, spec) - cycles(serialize(graph, spec.tosa_spec), spec)
    alone = cycles(serialize(_graph((14, 14, 64), "pool"), spec.tosa_spec), spec)
    assert saved > alone / 2


@pytest.mark.parametrize("most", [10.5, 9.7, 3.7])
def test_sums_of_16_bits_are_nearly_those_of_32(most: float) -> None:
    """A softmax divides by such a sum: one step of it is many of the quotient. 15 bits of the factor are not enough."""
    builder = new_builder()
    image = builder.graph.input("x", (1, 1, 10, 4096), DType.INT16)
    ones = builder.graph.constant(np.ones((1, 10, 4096, 1), np.int8), DType.INT8)
    zero = builder.graph.constant(np.zeros(1, np.int64), DType.INT48)
    zeros = builder.zero_point(0, DType.INT16), builder.zero_point(0, DType.INT8)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT48}
    total = builder.emit("DEPTHWISE_CONV2D", [image, ones, zero, *zeros], **attrs)
    builder.graph.outputs = [builder.rescale(builder.rescale(total, [1.0], DType.INT32), [1 / most], DType.INT16)]
    legal = legalize(builder.graph, U85.target())
    assert [op.name for op in legal.ops].count("RESCALE") == 1
    numbers = np.random.default_rng(0).integers(-32768, 32768, image.shape).astype(np.int16)
    (result,) = run(serialize(legal, U85.tosa_spec), [numbers])
    exact = np.floor(numbers.sum(2, keepdims=True) / most + 0.5).clip(-32768, 32767)
    off = np.abs(result - exact)
    assert off.max() <= 1
    assert off.mean() < 0.005
