"""Each way in which a graph can be unsound is found, with the operator and its origin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_tosa_core.support.errors import LoweringError, Rejected
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Origin, Tensor
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import verify

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP")


def chain() -> Graph:
    """exp(abs(x) + 1)"""
    graph = Graph()
    x = graph.input("x", (2, 3), DType.FP32)
    one = graph.constant(np.ones((1, 1), np.float32), DType.FP32)
    y = graph.append("ABS", [x], origin=Origin("abs_1", "aten.abs.default", "model.py:7")).output
    y = graph.append("ADD", [y, one], origin=Origin("add", "aten.add.Tensor", "model.py:8")).output
    graph.outputs = [graph.append("EXP", [y]).output]
    return graph


def test_a_sound_graph_passes() -> None:
    verify(chain(), SPEC)


def out_of_order(graph: Graph) -> None:
    first, second = graph.ops[:2]
    graph.ops.remove(second)
    graph.ops.insert_before(first, second)


def result_of_another_shape(graph: Graph) -> None:
    graph.ops[1].output.shape = (2, 4)


def broken_use_list(graph: Graph) -> None:
    graph.inputs[0].uses.remove(graph.ops[0])


def stale_use(graph: Graph) -> None:
    dropped = graph.ops[-1]
    graph.ops.remove(dropped)
    graph.outputs = [dropped.inputs[0]]


def wrong_producer(graph: Graph) -> None:
    graph.ops[0].output.producer = graph.ops[1]


def output_from_nowhere(graph: Graph) -> None:
    graph.outputs = [Tensor((1,), DType.FP32)]


def type_not_in_specification(graph: Graph) -> None:
    graph.append("ABS", [graph.input("i", (1,), DType.INT32)], origin=Origin("n", "aten.abs.default", "model.py:9"))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (out_of_order, r"ADD, from add \(aten.add.Tensor\) at model.py:8: uses .* which no earlier operator makes"),
        (result_of_another_shape, "ADD.*model.py:8: has the results"),
        (broken_use_list, "the use list of .*x .*does not match"),
        (stale_use, "the use list of .*does not match"),
        (wrong_producer, "ABS.*model.py:7: is not the producer"),
        (output_from_nowhere, "no operator makes the graph output"),
        (type_not_in_specification, r"ABS.*model.py:9: ABS takes FP16, FP32 in TOSA-1.0\+FP; got INT32"),
    ],
)
def test_unsound_graphs(damage: Callable[[Graph], None], reason: str) -> None:
    graph = chain()
    damage(graph)
    with pytest.raises(LoweringError, match=reason):
        verify(graph, SPEC)


def test_the_targets_checks_are_asked_about_every_operator() -> None:
    asked: list[str] = []

    def no_exp(op: Op) -> Rejected | None:
        asked.append(op.name)
        return Rejected("the device has no EXP") if op.name == "EXP" else None

    with pytest.raises(LoweringError, match="EXP: the device has no EXP"):
        verify(chain(), SPEC, [no_exp])
    assert asked == ["ABS", "ADD", "EXP"]
