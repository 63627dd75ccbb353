"""Rewrites that an estimate chooses, with a tool of the test's own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from arm_tosa_core.rewrites.by_estimate import Choice, Estimator
from arm_tosa_core.rewrites.cycle_estimate import CycleEstimate
from arm_tosa_core.rewrites.graph_parts import Surroundings
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP")


@dataclass(frozen=True)
class Tool(CycleEstimate):
    """Rates operators by their names; refuses graphs with an operator that has no price."""

    name = "test"
    packages = ()
    prices: Mapping[str, float]
    installed: bool = True
    asked: list[int] = field(default_factory=list, compare=False)

    def key(self, tosa: bytes, beside: Mapping[str, Any] | None = None) -> str | None:
        text = repr((sorted(self.prices.items()), sorted((beside or {}).items())))
        return hashlib.sha256(text.encode() + tosa).hexdigest() if self.installed else None

    def ask(self, graphs: Sequence[bytes]) -> list[float | None]:
        self.asked.append(len(graphs))
        return [self._cycles(load(tosa)) for tosa in graphs]

    def _cycles(self, graph: Graph) -> float | None:
        prices = [self.prices.get(op.name) for op in graph.ops]
        return None if None in prices else sum(price for price in prices if price is not None)


def _as(name: str) -> Choice:
    def replace(match: Match) -> Tensor:
        """An operator of another name, which the price decides about."""
        return match.insert(name, match.op.inputs[0])

    return Choice(f"as_{name.lower()}", Pattern("TANH"), replace, lambda match: None)


CHOICES = [_as("EXP"), _as("SIGMOID")]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path))
    return tmp_path


def chosen(tool: Tool) -> list[str]:
    """Names of the operators of a graph with a TANH and its neighbours, after the choices were made."""
    graph = Graph()
    x = graph.append("ABS", [graph.input("x", (2, 3), DType.FP32)]).output
    graph.outputs = [graph.append("CEIL", [graph.append("TANH", [x]).output]).output]
    estimator = Estimator(tool, SPEC, (), (), Surroundings(fused=("CEIL",)))
    run_rewrites(graph, [choice.if_cheaper(estimator, CHOICES) for choice in CHOICES])
    return [op.name for op in graph.ops]


@pytest.mark.parametrize(
    ("prices", "best"),
    [
        ({"TANH": 3, "EXP": 2, "SIGMOID": 1, "CEIL": 1}, "SIGMOID"),
        ({"TANH": 3, "EXP": 1, "SIGMOID": 2, "CEIL": 1}, "EXP"),
        ({"TANH": 1, "EXP": 1, "SIGMOID": 2, "CEIL": 1}, "TANH"),
        ({"TANH": 3, "SIGMOID": 2, "CEIL": 1}, "SIGMOID"),  # the tool refuses the other one
        ({"EXP": 1, "SIGMOID": 2, "CEIL": 1}, "TANH"),  # it does not know the operators as they are
        ({"TANH": 3, "EXP": 1, "SIGMOID": 2}, "TANH"),  # nor what may be fused behind
    ],
)
def test_the_cheapest_is_made(prices: dict[str, float], best: str) -> None:
    """ABS has no price: it is no part of what the tool is asked about."""
    assert chosen(Tool(prices)) == ["ABS", best, "CEIL"]


PRICES = {"TANH": 3.0, "EXP": 2.0, "SIGMOID": 1.0, "CEIL": 1.0}


def test_without_the_tool_nothing_is_chosen() -> None:
    tool = Tool(PRICES, installed=False)
    assert chosen(tool) == ["ABS", "TANH", "CEIL"] and not tool.asked


def test_answers_and_figures_are_kept(own_cache: Path) -> None:
    first, second = Tool(PRICES), Tool(PRICES)
    assert chosen(first) == chosen(second) and first.asked and not second.asked
    for answer in (own_cache / "test-choices").iterdir():
        answer.unlink()
    assert chosen(second) == chosen(first) and not second.asked  # the figures of the forms are known too
    assert chosen(other := Tool({**PRICES, "EXP": 0.5})) == ["ABS", "EXP", "CEIL"] and other.asked
