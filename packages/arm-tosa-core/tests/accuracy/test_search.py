"""The search beside brute force: all subsets of the units of three small networks, with a cheap cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from grouping_kit import NETWORKS, program_and_data

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.accuracy.model import Model, Quantized
from arm_tosa_core.accuracy.roundings import Widened, find_roundings, wide_parameters
from arm_tosa_core.accuracy.scheme import Scheme
from arm_tosa_core.accuracy.search import search
from arm_tosa_core.accuracy.search_result import Bounds, Goal, Point, parse_budget, ranked
from arm_tosa_core.accuracy.units import Units, find_units
from arm_tosa_core.lowering.rule_set import RuleSet

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own

_MEASURED = 6
_BASE = 100.0


class _Cheap(Model):
    """A model whose cycles are those of a table: what a scheme sets to 16 bits has a price, neighbours pay less."""

    def cost(self, quantized: Quantized) -> Mapping[str, float]:
        return self.quick_cost(quantized.scheme)

    def quick_cost(self, scheme: Scheme) -> Mapping[str, float]:
        self.estimated += 1
        if scheme.scheme == "int16x8":
            return {"cycles": 10 * _BASE}
        names = sorted({*scheme.modules, *scheme.nodes})
        prices = [3 + sum(map(ord, name)) % 11 for name in names]
        return {"cycles": _BASE + sum(prices) * (1 - 0.01 * len(names))}


def _prepare(name: str) -> tuple[_Cheap, Quantized, Units]:
    program, (calibration, evaluation) = program_and_data(name)
    model = _Cheap(program, TosaCompileSpec("TOSA-1.0+INT+int16"), calibration, evaluation)
    int8 = model.quantize(Scheme())
    names = {node.name for node in program.graph.nodes}
    rules = RuleSet.of(model.spec.target().name)
    return model, int8, find_units(names, int8.prepared, model.compare(int8).operators, Scheme(), rules)


def _brute_force(model: _Cheap, int8: Quantized, units: Units, most: float) -> float:
    """The best SQNR within a cost, dB: every subset is computed with its roundings, the best of them are quantized."""
    roundings = find_roundings(int8.converted, units)
    wide = model.quantize(units.scheme(Scheme(), range(len(units.all))))
    run = Widened(int8.converted, roundings, wide_parameters(wide.converted))
    calls = []
    for args, _ in model.evaluation[::4]:
        wanted = model.program.module()(*args)
        exact = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        calls.append((args, exact, run.base(args)[1]))
    found = []
    for count in range(len(units.all) + 1):
        for chosen in map(set, itertools.combinations(range(len(units.all)), count)):
            if model.quick_cost(units.scheme(Scheme(), sorted(chosen)))["cycles"] <= most:
                narrow = [r for r in roundings if r.needs is not None and not r.needs <= chosen]
                noisy = [(exact, run.with_narrow(narrow, args, values)) for args, exact, values in calls]
                found.append((_worst(noisy), sorted(chosen)))
    found.sort(key=lambda each: -each[0])
    return max(_sqnr(model, units, chosen) for _, chosen in found[:_MEASURED])


def _worst(calls: Sequence[tuple[Any, Any]]) -> float:
    figures = []
    for i in range(len(calls[0][0])):
        signal = sum(float(exact[i].square().sum()) for exact, _ in calls)
        noise = sum(float((exact[i] - noisy[i]).square().sum()) for exact, noisy in calls)
        figures.append(signal / noise)
    return min(figures)


def _sqnr(model: Model, units: Units, chosen: Sequence[int]) -> float:
    made = model.compare(model.quantize(units.scheme(Scheme(), chosen)), operators=False)
    assert made.sqnr_db is not None
    return made.sqnr_db


@pytest.mark.parametrize("name", NETWORKS)
def test_the_plan_is_within_1_db_of_brute_force(name: str) -> None:
    model, int8, units = _prepare(name)
    assert 10 <= len(units.all) <= 12
    found = search(model, int8, model.compare(int8), Goal(parse_budget("cycles=+30%")))
    assert found.chosen is not None and found.chosen.cost <= found.bounds.most == pytest.approx(1.3 * _BASE)
    best = _brute_force(model, int8, units, found.bounds.most)
    assert found.chosen.value > best - 1
    assert best > found.points[0].value + 1  # than int8: there is something to find


def test_of_models_of_many_units_parts_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is as good within 1 dB, by fewer estimates."""
    model, int8, _ = _prepare("normalized")
    goal = Goal(parse_budget("cycles=+30%"))
    one_by_one = search(model, int8, model.compare(int8), goal)
    monkeypatch.setattr("arm_tosa_core.accuracy.search._PARTS", 3)
    in_parts = search(model, int8, model.compare(int8), goal)
    assert in_parts.chosen is not None and one_by_one.chosen is not None
    assert in_parts.chosen.cost <= in_parts.bounds.most
    assert in_parts.chosen.value > one_by_one.chosen.value - 1
    tried = [len(found.points) for found in (in_parts, one_by_one)]  # each is estimated too
    assert in_parts.estimated - tried[0] < one_by_one.estimated - tried[1]


def test_groups_are_units_that_numbers_go_between() -> None:
    model, int8, _ = _prepare("normalized")
    found = search(model, int8, model.compare(int8), Goal(parse_budget("cycles=+45%")))
    names = [{unit.name for unit in group} for group in found.groups]
    assert any({"add", "rsqrt", "mul_1"} <= group for group in names)
    assert "size =" in next(unit.source for group in found.groups for unit in group if unit.name == "rsqrt")


def test_what_16_bits_everywhere_do_not_reach_is_not_sought_long() -> None:
    """int8, int16x8, all units, and the plans of three limits."""
    model, int8, _ = _prepare("normalized")
    model.metric = lambda exact, noisy, _samples: 1.0
    found = search(model, int8, model.compare(int8), Goal(least=2.0))
    assert found.chosen is None and len(found.points) <= 6


def test_other_planners_look_for_less_than_what_was_found() -> None:
    """With a metric that all plans keep, each planner goes down from the cheapest so far."""
    model, int8, _ = _prepare("normalized")
    model.metric = lambda exact, noisy, _samples: 1.0
    found = search(model, int8, model.compare(int8), Goal(least=1.0))
    assert found.chosen is not None and found.chosen.units == () and len(found.points) <= 3


@pytest.mark.parametrize(("errors", "kept"), [((1.0, 1.0, 1.0, 9.0), False), ((0.5, 0.5, 0.5, 2.0), True)])
def test_units_in_16_bits_gain_by_more_than_chance(errors: tuple[float, ...], kept: bool) -> None:
    """Of four samples one alone gains in the first row, and its gain is the mean's."""
    int8 = Point(Scheme(), (), 10.0, (), (1.0, 1.0, 1.0, 12.0), 100.0)
    wide = Point(Scheme("int16x8"), ("layer",), 11.0, (), errors, 110.0)
    _, chosen = ranked([int8, wide], Bounds(120.0, -math.inf), Goal(parse_budget("cycles=+20%")))
    assert chosen is not None and (chosen.units == ("layer",)) == kept
