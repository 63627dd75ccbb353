"""Flatbuffers that stand for far more than they hold."""

from __future__ import annotations

import time

import pytest
from tosa.TosaGraph import TosaGraph

from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa import serializer
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP+controlflow")


def condition() -> Graph:
    graph = Graph("condition")
    x = graph.input("x", (1,), DType.FP32)
    graph.outputs = [graph.append("GREATER", [x, x]).output]
    return graph


CONDITION = condition()


def level(inner: Graph | None, number: int, uses: int) -> Graph:
    """A region that has the one within so many times, as bodies of loops."""
    graph = Graph(f"level{number}")
    x = graph.input("x", (1,), DType.FP32)
    graph.outputs = [graph.append("ABS", [x]).output]
    for _ in range(uses if inner is not None else 0):
        pieces = {"cond_graph": CONDITION, "body_graph": inner}
        graph.outputs = [graph.append("WHILE_LOOP", graph.outputs, pieces).output]
    return graph


def nested(depth: int, uses: int) -> Graph:
    graph = level(None, 0, 0)
    for number in range(1, depth):
        graph = level(graph, number, uses)
    return graph


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs within operators become one region if they are one graph."""
    made: dict[int, str] = {}
    nest = serializer._Writer.nest

    def once(writer: serializer._Writer, graph: Graph) -> str:
        return made.get(id(graph)) or made.setdefault(id(graph), nest(writer, graph))

    monkeypatch.setattr(serializer._Writer, "nest", once)


@pytest.mark.parametrize(
    ("depth", "uses", "problem"),
    [
        pytest.param(31, 2, "share regions", id="doubled at each of 31 levels"),
        pytest.param(6, 20, "share regions", id="20 times at each of 6 levels"),
        pytest.param(40, 1, "deeper than 32: condition in level8 in", id="40 levels"),
        pytest.param(400, 1, "deeper than 32", id="400 levels"),
    ],
)
def test_regions_without_measure_are_refused(shared: None, depth: int, uses: int, problem: str) -> None:
    data = serialize(nested(depth, uses), SPEC)
    started = time.process_time()
    with pytest.raises(UsageError, match=problem):
        load(data)
    assert time.process_time() - started < 10


def test_regions_that_a_few_operators_share_are_read(shared: None) -> None:
    graph = load(serialize(nested(3, 2), SPEC))
    first, second = (op.attrs["body_graph"] for op in graph.ops if op.name == "WHILE_LOOP")
    assert first is not second and [op.name for op in first.ops] == ["ABS", "WHILE_LOOP", "WHILE_LOOP"]


def test_an_operator_without_its_attributes_is_refused() -> None:
    graph = Graph("main")
    x = graph.input("x", (2, 3), DType.FP32)
    graph.outputs = [graph.append("REDUCE_SUM", [x], {"axis": 1}).output]
    content = bytearray(serialize(graph, SPEC))
    region = TosaGraph.GetRootAs(content).Regions(0)
    (op,) = (region.Blocks(0).Operators(i) for i in range(region.Blocks(0).OperatorsLength()))
    content[op._tab.Pos + op._tab.Offset(6)] = 0  # the kind of its attributes
    with pytest.raises(UsageError, match="REDUCE_SUM has no attributes"):
        load(bytes(content))
