"""A target's preferences among several ways to say the same in TOSA: which operators each of them gives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams, Value
from arm_tosa_core.plugin.target import Preferences
from arm_tosa_core.rules import index, reduction
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

INTEGER = TosaSpecification.create_from_string("TOSA-1.0+INT")
FLOAT = TosaSpecification.create_from_string("TOSA-1.0+FP")


def _quantized(b: Builder, shape: tuple[int, ...], scale: float, name: str = "x") -> Value:
    tensor = b.graph.input(name, shape, DType.INT8)
    return b.value(tensor, torch.float32, quant=QParams((scale,), 3, -128, 127))


def _names(b: Builder) -> list[str]:
    return [op.name for op in b.graph.ops]


@pytest.mark.parametrize(
    ("largest", "size", "window"),
    [(8, (8, 8), (8, 8)), (7, (8, 8), None), (8, (4, 16), (8, 8)), (8, (2, 14), (4, 7)), (8, (2, 11), None)],
)
def test_the_mean_of_a_large_image_is_a_sum_along_axes(
    largest: int, size: tuple[int, int], window: tuple[int, int] | None
) -> None:
    b = Builder(Graph(), INTEGER, preferences=Preferences(largest_mean_window=largest))
    y = reduction.mean(b, _quantized(b, (1, 4, *size), 0.5), [2, 3], True)
    convolved = [op.inputs[1].shape[:2] for op in b.graph.ops if op.name == "DEPTHWISE_CONV2D"]
    assert convolved == ([window] if window else [])
    assert ("REDUCE_SUM" in _names(b)) != bool(window)
    assert y.shape == (1, 4, 1, 1)
    assert y.quant is not None
    assert np.isclose(y.quant.scalar, 0.5 / (size[0] * size[1]))


@pytest.mark.parametrize("convolved", [True, False])
@pytest.mark.parametrize("reduced", [reduction.sum_, reduction.mean])
@pytest.mark.parametrize(
    ("shape", "axes", "image"),
    [
        *[((2, 4, 6, 5), [1, 2], True), ((2, 4, 6, 5), [2, 3], False), ((2, 65, 67, 2), [1, 2], False)],
        *[((2, 4, 6, 5), [1], True), ((2, 4, 6, 5), [3], False), ((1, 40, 7, 3), [1], True), ((2, 65, 7), [1], False)],
        *[((1, 70, 6), [1], True), ((1, 71, 6), [1], False), ((1, 1, 70, 1, 6), [2], True), ((70, 6), [0], True)],
    ],
)
def test_a_sum_over_what_lies_as_an_image_is_a_convolution(
    shape: tuple[int, ...], axes: list[int], image: bool, reduced: Callable[..., Value], convolved: bool
) -> None:
    b = Builder(Graph(), INTEGER, preferences=Preferences(convolved_sums=convolved))
    y = reduced(b, _quantized(b, shape, 0.5), axes, True)
    b.graph.outputs = [b.tensor(y)]
    if reduced is reduction.sum_ or axes != [2, 3]:  # a mean over the last two is one in any case
        assert ("DEPTHWISE_CONV2D" in _names(b)) is (image and convolved)
        assert "TRANSPOSE" not in _names(b)
    data = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    (made,) = run(serialize(b.graph, INTEGER), [data])
    assert y.quant is not None
    factor = 1 if reduced is reduction.sum_ else math.prod(shape[axis] for axis in axes)
    expected = (data.astype(np.int64) - 3).sum(tuple(axes), keepdims=True) * 0.5 / factor
    np.testing.assert_allclose(made.reshape(expected.shape) * y.quant.scalar, expected, rtol=1e-6)


@pytest.mark.parametrize(("most", "transposes"), [(6, 0), (5, 2)])
def test_many_indices_are_not_repeated(most: int, transposes: int) -> None:
    b = Builder(Graph(), FLOAT, preferences=Preferences(most_repeated_indices=most))
    x = b.value(b.graph.input("x", (2, 5, 7), DType.FP32), torch.float32)
    y = index.index_select(b, x, 1, b.const(torch.tensor([4, 0, 4])))
    b.tensor(y)
    assert _names(b).count("TRANSPOSE") == transposes
    assert y.shape == (2, 3, 7)


@pytest.mark.parametrize("shift", [19, 12])
def test_an_addition_shifts_as_far_as_the_target_does(shift: int) -> None:
    b = Builder(Graph(), INTEGER, preferences=Preferences(addition_shifts={8: shift}))
    y = b.ADD(_quantized(b, (4,), 0.5), _quantized(b, (4,), 0.25, "y"))
    assert y.quant is not None
    assert y.quant.scalar == 0.5 / 2**shift
