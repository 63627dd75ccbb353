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


def _begin(size: int, count: int, end: bool) -> Op:
    """The first elements, or the last ones, as many at every size."""
    graph = Graph()
    x = graph.input("x", (2, size), DType.INT8)
    return graph.append("SLICE", [x, graph.shape((0, size - count if end else 0)), graph.shape((2, count))], {})


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (False, "has a SLICE of elements 0 to 2 of 1 where s = 1"),
        (True, "has a SLICE of elements -1 to 1 of 1 where s = 1"),
    ],
)
@pytest.mark.parametrize("least", [1, 2])
def test_slices_are_parts_at_the_least_size(end: bool, said: str, least: int) -> None:
    points = [{"s": size} for size in (9, 7, 3)]
    found = Dependence(points, {"s": least}).difference([_begin(point["s"], 2, end) for point in points])
    assert found == (said if least == 1 else None)
