"""Inputs and outputs that are one, or that share memory: what a run reads is what the caller gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from vgf_files import SPEC, Resource, Segment, double, spirv, write

from arm_tosa_core.tosa.graph import Graph, Tensor
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

Array = np.ndarray[Any, Any]
SHAPE = (2, 3, 4)
X = np.arange(24, dtype=np.int32).reshape(SHAPE)
C = X[::-1] * 7


def compiled(build: Callable[[Graph, Tensor], list[Tensor]]) -> bytes:
    graph = Graph()
    graph.outputs = build(graph, graph.input("x", SHAPE, DType.INT32))
    return convert(serialize(graph, SPEC))


def doubled(graph: Graph, x: Tensor) -> Tensor:
    return graph.append("ADD", [x, x]).output


def flat(graph: Graph, x: Tensor) -> Tensor:
    return graph.append("RESHAPE", [x, graph.shape([24])]).output


def doubled_twice(graph: Graph, x: Tensor) -> list[Tensor]:
    return [doubled(graph, x)] * 2


def doubled_and_view(graph: Graph, x: Tensor) -> list[Tensor]:
    y = doubled(graph, x)
    return [y, flat(graph, y)]


GRAPHS: dict[str, tuple[Callable[[Graph, Tensor], list[Tensor]], list[Array]]] = {
    "the input": (lambda g, x: [x], [X]),
    "a view of the input": (lambda g, x: [flat(g, x)], [X.reshape(24)]),
    "the input, also computed with": (lambda g, x: [x, doubled(g, x), x], [X, 2 * X, X]),
    "a value twice": (doubled_twice, [2 * X, 2 * X]),
    "a value and a view of it": (doubled_and_view, [2 * X, 2 * X.reshape(24)]),
    "a constant": (lambda g, x: [g.constant(C, DType.INT32), doubled(g, x)], [C, 2 * X]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_returns(vgf: Any, name: str) -> None:
    build, wanted = GRAPHS[name]
    with vgf.Session(compiled(build), engine="compute") as session:
        check(session, [X], wanted)


def crossing() -> list[int]:
    """Code that makes x1 and x0 + x1 of x0 and x1: bindings 0 and 1 are the inputs, 2 and 3 the outputs."""
    graph = Graph()
    x = [graph.input(f"x{i}", (4,), DType.INT32) for i in range(2)]
    graph.outputs = [x[1], graph.append("ADD", x).output]
    return spirv(convert(serialize(graph, SPEC)))


def crossed() -> Segment:
    return Segment(crossing(), {0: [(i, i) for i in range(4)]}, entry_point="graph_partition_0")


A, B = np.array([1, 2, 3, 4], np.int32), np.array([50, 60, 70, 80], np.int32)
FILES: dict[str, tuple[Callable[[], bytes], list[Array], list[Array]]] = {
    "an output that is the input": (
        lambda: write([Resource("Input"), Resource("Output")], [double(0, 1)], [0], [0, 1]),
        [A],
        [A, 2 * A],
    ),
    "an output twice": (
        lambda: write([Resource("Input"), Resource("Output")], [double(0, 1)], [0], [1, 1]),
        [A],
        [2 * A, 2 * A],
    ),
    "an output in the input's memory": (
        lambda: write([Resource("Input", alias=1), Resource("Output", alias=1)], [double(0, 1)], [0], [1]),
        [A],
        [2 * A],
    ),
    "an intermediate value in the output's memory": (
        lambda: write(
            [Resource("Input"), Resource("Intermediate", alias=1), Resource("Output", alias=1)],
            [double(0, 1), double(1, 2)],
            [0],
            [2],
        ),
        [A],
        [4 * A],
    ),
    "two outputs, each in the memory of what the other reads": (
        lambda: write(
            [*(Resource("Input", alias=i) for i in (1, 2)), *(Resource("Output", alias=i) for i in (1, 2))],
            [crossed()],
            [0, 1],
            [2, 3],
        ),
        [A, B],
        [B, A + B],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_with(vgf: Any, name: str) -> None:
    data, inputs, wanted = FILES[name]
    with vgf.Session(data(), engine="compute") as session:
        check(session, inputs, wanted)


def check(session: Any, inputs: list[Array], wanted: list[Array]) -> None:
    """Twice: a run must not leave anything behind for the next."""
    for _ in range(2):
        got = session.run(inputs)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert np.array_equal(one, other)
