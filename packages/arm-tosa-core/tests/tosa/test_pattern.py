"""What patterns find: operators, types, attributes, alternatives, operands in any place and through moves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import ANY, AnyOf, Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.walks import is_alone, made_by, only_reader, through


def _graph() -> tuple[Graph, Op]:
    """ABS(ABS(x) moved twice) - (CLZ(x) + 1), of which the SUB is the operator."""
    graph = Graph()
    x = graph.input("x", (1, 4), DType.INT32)
    moved = graph.append("RESHAPE", [graph.append("ABS", [x]).output, graph.shape((4, 1))]).output
    moved = graph.append("TRANSPOSE", [moved], {"perms": (1, 0)}).output
    total = graph.append(
        "ADD", [graph.append("CLZ", [x]).output, graph.constant(np.ones((1, 1), np.int32), DType.INT32)]
    )
    sub = graph.append("SUB", [graph.append("ABS", [moved]).output, total.output])
    graph.outputs = [sub.output]
    return graph, sub


_SUM = Pattern("ADD", {0: Pattern("CLZ")})
_MOVED = Pattern("ABS", {0: Pattern("ABS", name="inner", through=("RESHAPE", "TRANSPOSE"))})


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        (Pattern("SUB|ADD"), 1),
        (Pattern("ADD"), 0),
        (Pattern(), 1),
        (Pattern("SUB", {1: _SUM}), 1),
        (Pattern("SUB", {0: _SUM}), 0),
        (Pattern("SUB", {2: Pattern()}), 0),
        (Pattern("SUB", {0: _SUM}, commutes=True), 1),
        (Pattern("SUB", {0: _SUM, 1: _MOVED}, commutes=True), 1),
        (Pattern("SUB", {0: _SUM, 1: _SUM}, commutes=True), 0),
        (Pattern("SUB", {ANY: _SUM}), 1),
        (Pattern("SUB", {ANY: Pattern("ABS|ADD")}), 2),
        (Pattern("SUB", {ANY: Pattern("CLZ")}), 0),
        (Pattern("SUB", {ANY: AnyOf((_SUM, Pattern("ABS"))), 0: Pattern("ABS")}), 2),
        (AnyOf((Pattern("ADD"), Pattern("SUB"))), 1),
        (Pattern("SUB", {0: _MOVED}), 1),
        (Pattern("SUB", {0: Pattern("ABS", {0: Pattern("ABS", through=("TRANSPOSE",))})}), 0),
        (Pattern("SUB", {0: Pattern("ABS", {0: Pattern("TRANSPOSE", attrs={"perms": (1, 0)})})}), 1),
        (Pattern("SUB", {0: Pattern("ABS", {0: Pattern("TRANSPOSE", attrs={"perms": (0, 1)})})}), 0),
        (Pattern("SUB", dtype=DType.INT32), 1),
        (Pattern("SUB", dtype=(DType.INT8, DType.INT32)), 1),
        (Pattern("SUB", dtype=DType.INT8), 0),
        (Pattern("SUB", where=lambda op: op.output.rank == 2), 1),
        (Pattern("SUB", where=lambda op: op.output.rank == 3), 0),
        (Pattern("SUB", {1: Pattern("ADD", {1: Pattern(constant=True)})}), 1),
        (Pattern("SUB", {1: Pattern("ADD", {0: Pattern(constant=True)})}), 0),
        (Pattern("SUB", {1: Pattern("ADD", {0: Pattern(constant=True)}, commutes=True)}), 1),
        (Pattern("SUB", {1: Pattern("ADD", {1: Pattern("*")})}), 0),  # a constant has no operator
        (Pattern("SUB", {1: Pattern("ADD", {0: Pattern("*", alone=True)})}), 1),
        (Pattern("SUB", {1: Pattern("ADD", {0: Pattern("CLZ", {0: Pattern(alone=True)})})}), 0),  # ABS reads it too
    ],
)
def test_ways_in_which_a_pattern_is_found(pattern: Pattern | AnyOf, ways: int) -> None:
    graph, op = _graph()
    assert len(list(pattern.ways(graph, op))) == ways


@pytest.mark.parametrize("spoiled", ["output", "second reader"])
@pytest.mark.parametrize("at", ["ABS", "RESHAPE", "TRANSPOSE"])
def test_alone_is_meant_of_all_that_lies_between(spoiled: str, at: str) -> None:
    graph, op = _graph()
    pattern = Pattern("SUB", {0: Pattern("ABS", {0: Pattern("ABS", through=("RESHAPE", "TRANSPOSE"), alone=True)})})
    assert list(pattern.ways(graph, op))
    tensor = next(each for each in graph.ops if each.name == at).output
    if spoiled == "output":
        graph.outputs.append(tensor)
    else:
        graph.append("CLZ", [tensor])
    assert not list(pattern.ways(graph, op))


def test_a_match_says_where_each_name_was_found() -> None:
    graph, op = _graph()
    pattern = Pattern("SUB", {ANY: Pattern("ADD", {1: Pattern(name="one")}, "sum"), 0: _MOVED})
    (way,) = pattern.ways(graph, op)
    match = Match(graph, op, way)
    assert (match["sum"].name, match.position("sum"), match["inner"].name) == ("ADD", 1, "ABS")
    assert match.tensor("one").is_constant
    assert [each.name for each in match.between("inner")] == ["TRANSPOSE", "RESHAPE"]
    assert pattern.looks_through == {"RESHAPE", "TRANSPOSE"}


def test_a_check_chooses_among_the_ways_and_the_engine_looks_through_moves() -> None:
    def small(match: Match) -> str | None:
        return None if match.position("constant") == 1 else "it is the first one"

    def doubled(match: Match) -> Mapping[int, Tensor]:
        """Nothing but twos."""
        two = match.graph.constant(np.full((1, 1), 2, np.int32), DType.INT32)
        return {match.position("constant"): match.insert("ADD", two, two)}

    graph = Graph()
    one = graph.constant(np.ones((1, 1), np.int32), DType.INT32)
    graph.outputs = [graph.append("ADD", [one, one]).output]
    rewrite = pattern_rewrite(
        "two",
        Stage.OPTIMIZE,
        Pattern("ADD", {ANY: Pattern(name="constant", constant=True, through=("ABS",))}),
        doubled,
        small,
    )
    assert rewrite.through == {"ABS"}
    assert rewrite.apply(graph, graph.outputs[0].producer)  # type: ignore[arg-type]
    assert [x.is_constant for x in graph.outputs[0].producer.inputs] == [True, False]  # type: ignore[union-attr]
    assert run_rewrites(graph, []).visited == 2


def test_walks() -> None:
    graph, op = _graph()
    absolute = op.inputs[0].producer
    assert absolute is not None and made_by(op.inputs[0], "ABS") and not made_by(graph.inputs[0], "ABS")
    assert made_by(through(absolute.inputs[0], ("RESHAPE", "TRANSPOSE")), "ABS")
    assert only_reader(graph, absolute) is op and only_reader(graph, op) is None
    assert is_alone(graph, absolute.output) and not is_alone(graph, graph.inputs[0])
    shaped = through(absolute.inputs[0], ("TRANSPOSE",))
    graph.append("ABS", [shaped])
    assert through(absolute.inputs[0], ("RESHAPE", "TRANSPOSE"), alone=True) is shaped
