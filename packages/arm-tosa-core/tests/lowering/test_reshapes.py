"""RESHAPE of values that lie in memory in another order than PyTorch's: how much is moved, and the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest
import torch

from arm_tosa_core import TosaSpecification
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP")
NHWC = (0, 3, 1, 2)  # where the axes of an image lie


@pytest.mark.parametrize(
    ("shape", "perm", "new", "transposes", "lies"),
    [
        # Bands of channels become rows: rows stay first, channels last.
        ((1, 12, 2, 5), NHWC, (1, 4, 6, 5), 1, (0, 3, 1, 2)),
        ((1, 4, 6, 5), NHWC, (1, 12, 2, 5), 1, (0, 3, 1, 2)),
        # Axes are split, and neighbours are merged, where they lie.
        ((1, 12, 2, 5), NHWC, (1, 3, 4, 2, 5), 0, (0, 3, 4, 1, 2)),
        ((1, 12, 2, 5), NHWC, (1, 12, 10), 0, (0, 2, 1)),
        # Axes that merge meet where the largest is.
        ((1, 12, 2, 5), NHWC, (1, 24, 5), 1, (0, 2, 1)),
        ((1, 2, 12, 5), NHWC, (1, 24, 5), 1, (0, 1, 2)),
        # No part of the ones is a part of the others.
        ((1, 4, 6, 5), NHWC, (1, 6, 4, 5), 1, (0, 1, 2, 3)),
        # Two crossings, of which the parts go to different places.
        ((1, 6, 4, 10, 3), (0, 4, 1, 2, 3), (1, 2, 12, 2, 15), 1, None),
    ],
)
def test_a_reshape_moves_at_most_once(
    shape: Sequence[int], perm: tuple[int, ...], new: Sequence[int], transposes: int, lies: tuple[int, ...] | None
) -> None:
    graph = Graph()
    b = Builder(graph, SPEC)
    in_memory = [shape[perm.index(place)] for place in range(len(perm))]
    x = b.value(graph.input("x", in_memory, DType.FP32), torch.float32, perm)
    y = b.RESHAPE(x, new)
    assert [op.name for op in graph.ops].count("TRANSPOSE") == transposes
    assert y.shape == tuple(new)
    if lies is not None:
        assert y.axes == lies
    graph.outputs = [b.tensor(y)]
    data = np.arange(prod(shape), dtype=np.float32).reshape(in_memory)
    (result,) = run(serialize(graph, SPEC), [data])
    np.testing.assert_array_equal(result.reshape(new), data.transpose(perm).reshape(new))
