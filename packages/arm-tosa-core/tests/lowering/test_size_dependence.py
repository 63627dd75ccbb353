"""Operators at several sizes: what they are at the least sizes, where nothing was lowered."""

from __future__ import annotations

import pytest

from arm_tosa_core.lowering.size_dependence import Dependence
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op


def _slice(size: int) -> Op:
    """All but the first element."""
    graph = Graph()
    x = graph.input("x", (2, size), DType.INT8)
    return graph.append("SLICE", [x, graph.shape((0, 1)), graph.shape((2, size - 1))], {})


@pytest.mark.parametrize(("least", "said"), [(1, "has a SLICE with a result of size 0 where s = 1"), (2, None)])
def test_results_have_elements_at_the_least_size(least: int, said: str | None) -> None:
    points = [{"s": size} for size in (9, 7, 3)]
    assert Dependence(points, {"s": least}).difference([_slice(point["s"]) for point in points]) == said
