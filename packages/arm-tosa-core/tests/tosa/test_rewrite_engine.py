"""The rewrite engine: what it looks at again, what it logs, what it counts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from arm_tosa_core.support.errors import LoweringError, UsageError
from arm_tosa_core.testing.verified_rewrites import verified_rewrites
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Origin, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, Statistics, observed, run_rewrites


def _row(*names: str) -> Graph:
    """Operators one behind the other."""
    graph = Graph()
    x = graph.input("x", (1, 4), DType.INT32)
    for i, name in enumerate(names):
        x = graph.append(name, [x], origin=Origin(f"node_{i}", "aten.abs.default", f"model.py:{i}")).output
    graph.outputs = [x]
    return graph


def _names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


def _other(name: str, new: str, *, before: str = "") -> Rewrite:
    """Replaces operators of a name, or those of what ``before`` makes."""

    def replacement(match: Match) -> Tensor:
        """The other one is better."""
        return match.insert(new, *match.op.inputs)

    return pattern_rewrite(
        f"{name}_to_{new}", Stage.OPTIMIZE, Pattern(name, {0: Pattern(before)} if before else {}), replacement
    )


@pytest.mark.parametrize("count", [100, 1600])
def test_work_is_proportional_to_the_graph(count: int) -> None:
    graph = _row(*["IDENTITY"] * count)
    statistics = run_rewrites(graph, [_other("IDENTITY", "ABS")])
    assert _names(graph) == ["ABS"] * count
    assert statistics.visited == 2 * count  # each operator, and each that took its place
    assert statistics.rewrites["IDENTITY_to_ABS"].tried == statistics.rewrites["IDENTITY_to_ABS"].applied == count


@pytest.mark.parametrize("count", [100, 1600])
def test_a_change_that_wanders_through_the_graph_is_followed_alone(count: int) -> None:
    """One operator after the other, each made possible by the one before: rounds would take count squared."""
    graph = _row("ABS", *["IDENTITY"] * count)
    statistics = run_rewrites(graph, [_other("IDENTITY", "ABS", before="ABS")])
    assert _names(graph) == ["ABS"] * (count + 1)
    assert statistics.visited <= 8 * count


def test_what_is_far_is_looked_at_again_through_the_operators_named() -> None:
    """ABS becomes CLZ where, before any number of IDENTITY, there is a CLZ: that comes later than the first look."""

    def of_clz(graph: Graph, op: Op) -> bool:
        x = op.inputs[0]
        while x.producer is not None and x.producer.name == "IDENTITY":
            x = x.producer.inputs[0]
        if x.producer is None or x.producer.name != "CLZ":
            return False
        graph.replace(op.output, graph.insert_before(op, "CLZ", op.inputs).output)
        return True

    rewrites = [
        Rewrite("abs_of_clz", Stage.OPTIMIZE, ("ABS",), of_clz, frozenset(("IDENTITY",))),
        _other("BITWISE_NOT", "CLZ"),
    ]
    graph = _row("BITWISE_NOT", *["IDENTITY"] * 9, "ABS")
    run_rewrites(graph, rewrites)
    assert _names(graph) == ["CLZ", *["IDENTITY"] * 9, "CLZ"]


def test_a_dead_operator_is_not_rewritten() -> None:
    graph = _row("IDENTITY", "ABS")
    graph.append("IDENTITY", [graph.inputs[0]])
    statistics = run_rewrites(graph, [_other("IDENTITY", "ABS")])
    assert statistics.rewrites["IDENTITY_to_ABS"].applied == 1 and _names(graph) == ["ABS", "ABS"]


def test_an_application_is_logged_with_the_operator_its_origin_and_a_reason(caplog: pytest.LogCaptureFixture) -> None:
    def said(graph: Graph, op: Op) -> str:
        graph.replace(op.output, op.inputs[0])
        return "row 7 of the table"

    with caplog.at_level(logging.DEBUG, logger="arm_tosa_core.rewrites"):
        run_rewrites(
            _row("ABS", "CLZ", "ABS"), [_other("ABS", "IDENTITY"), Rewrite("no_clz", Stage.OPTIMIZE, ("CLZ",), said)]
        )
    assert "ABS_to_IDENTITY at ABS of node_0, model.py:0: The other one is better." in caplog.messages
    assert "no_clz at CLZ of node_1, model.py:1: row 7 of the table" in caplog.messages
    assert "ABS_to_IDENTITY: applied 2 times of 2 tried" in caplog.messages[-1]


def test_observers_are_told_of_each_application() -> None:
    class Seen(Observer):
        def __init__(self) -> None:
            self.names: list[str] = []

        def applied(self, graph: Graph, application: Application) -> None:
            self.names.append(application.op.name)

    seen = Seen()
    with observed(seen):
        statistics = run_rewrites(_row("ABS", "CLZ"), [_other("ABS", "IDENTITY")])
    run_rewrites(_row("ABS"), [_other("ABS", "IDENTITY")])
    assert seen.names == ["ABS"]
    assert isinstance(statistics, Statistics) and statistics.rewrites["ABS_to_IDENTITY"].seconds > 0


def test_the_verifier_names_the_rewrite_that_broke_the_graph() -> None:
    def wrong(graph: Graph, op: Op) -> bool:
        """It is wrong."""
        op.output.shape = (7, 7)
        op.name = "CLZ"
        return True

    rewrites = [_other("IDENTITY", "BITWISE_NOT"), Rewrite("wrong", Stage.OPTIMIZE, ("ABS",), wrong)]
    with (
        verified_rewrites(),
        pytest.raises(LoweringError, match=r"broken by wrong at CLZ of node_1.*: It is wrong.: CLZ.*has the results"),
    ):
        run_rewrites(_row("IDENTITY", "ABS"), rewrites)


def test_a_check_keeps_what_it_has_a_reason_against_and_operands_are_replaced() -> None:
    def against(match: Match) -> str | None:
        return "it is not the first" if match.op.inputs[0] is not match.graph.inputs[0] else None

    def zero(match: Match) -> dict[int, Tensor]:
        """Nothing but zeros."""
        return {0: match.graph.constant(np.zeros((1, 4), np.int32), DType.INT32)}

    graph = _row("ABS", "ABS")
    run_rewrites(graph, [pattern_rewrite("zero", Stage.OPTIMIZE, Pattern("ABS"), zero, against)])
    assert [op.inputs[0].is_constant for op in graph.ops] == [True, False]


def test_an_error_within_a_rewrite_says_which_and_where() -> None:
    def replacement(match: Match) -> Tensor:
        return match.insert("ABS", *match.op.inputs, *match.op.inputs)

    wrong = pattern_rewrite("wrong", Stage.OPTIMIZE, Pattern("IDENTITY"), replacement)
    with pytest.raises(LoweringError, match=r"wrong at IDENTITY of node_0, model.py:0: the rewrite fails: ABS takes 1"):
        run_rewrites(_row("IDENTITY"), [wrong])


def test_an_exception_within_a_rewrite_says_which_and_where() -> None:
    def replacement(match: Match) -> Tensor:
        return match["misspelt"].output

    wrong = pattern_rewrite("wrong", Stage.OPTIMIZE, Pattern("IDENTITY"), replacement)
    with pytest.raises(
        LoweringError, match=r"wrong at IDENTITY of node_0, .*: the rewrite raised KeyError: 'misspelt'"
    ):
        run_rewrites(_row("IDENTITY"), [wrong])


def test_a_replacement_returns_a_tensor() -> None:
    def nothing(match: Match) -> Any:
        return None

    wrong = pattern_rewrite("wrong", Stage.OPTIMIZE, Pattern("IDENTITY"), nothing)
    with pytest.raises(LoweringError, match=r"its replacement returned NoneType, not a Tensor"):
        run_rewrites(_row("IDENTITY"), [wrong])


def test_a_rewrite_that_changes_the_graph_and_says_no_ends_with_an_error() -> None:
    def says_no(graph: Graph, op: Op) -> bool:
        graph.insert_before(op, "CLZ", op.inputs)
        return False

    with pytest.raises(LoweringError, match=r"says_no at ABS of node_0, model.py:0: it changed the graph and returned"):
        run_rewrites(_row("ABS"), [Rewrite("says_no", Stage.OPTIMIZE, ("ABS",), says_no)])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [((lambda match: None, "no"), "the replacement and then the check"), ((None, str), "the replacement and then")],
)
def test_the_arguments_of_a_pattern_rewrite_have_their_types(arguments: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=rf"rewrite 'wrong': .*{problem}"):
        pattern_rewrite("wrong", Stage.OPTIMIZE, Pattern("ABS"), *arguments)
    with pytest.raises(UsageError, match=r"the pattern is a Pattern or AnyOf, not 'ABS'"):
        pattern_rewrite("wrong", Stage.OPTIMIZE, cast(Any, "ABS"), lambda match: match.op.output)


def _never(graph: Graph, op: Op) -> bool:
    return False


NO_OPERATOR: dict[str, tuple[Callable[[], object], str]] = {
    "operator": (lambda: Pattern("RESHAP"), "Pattern: TOSA has no operator 'RESHAP'; did you mean 'RESHAPE'"),
    "one of several": (lambda: Pattern("ADD|NOSUCH"), "no operator 'NOSUCH'$"),
    "in lower case": (lambda: Pattern("conv2d"), "did you mean 'CONV2D'"),
    "blanks": (lambda: Pattern("ADD | SUB"), "no operator 'ADD '"),
    "of an operand": (lambda: Pattern("ADD", {0: Pattern("MULT")}), "no operator 'MULT'"),
    "through": (lambda: Pattern("ADD", through=["TRANSPOSED"]), "no operator 'TRANSPOSED'"),
    "attribute": (lambda: Pattern("CONV2D", attrs={"strides": (1, 1)}), "CONV2D has no attribute 'strides'"),
    "attribute of any": (lambda: Pattern(attrs={"strides": (1, 1)}), "TOSA has no attribute 'strides'"),
    "of a rewrite": (lambda: Rewrite("wrong", Stage.OPTIMIZE, ("ADDS",), _never), "rewrite 'wrong': .*'ADDS'"),
    "through of a rewrite": (
        lambda: Rewrite("wrong", Stage.OPTIMIZE, ("ADD",), _never, frozenset({"VIEW"})),
        "rewrite 'wrong': .*'VIEW'",
    ),
}


@pytest.mark.parametrize(("make", "problem"), NO_OPERATOR.values(), ids=NO_OPERATOR)
def test_what_no_graph_has_is_refused(make: Callable[[], object], problem: str) -> None:
    """It would never be found, and nothing would say so."""
    with pytest.raises(UsageError, match=problem):
        make()


def test_the_fields_of_a_rewrite_have_their_types() -> None:
    with pytest.raises(UsageError, match=r"ops is a tuple of names"):
        Rewrite("wrong", Stage.OPTIMIZE, cast(Any, "ABS"), lambda graph, op: False)
    with pytest.raises(UsageError, match=r"apply is a function"):
        Rewrite("wrong", Stage.OPTIMIZE, ("ABS",), cast(Any, None))
