"""Plans of units in 16 bits: beside all plans that there are, on random noises and costs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from arm_tosa_core.accuracy.plans import Chosen, Costs, Planner
from arm_tosa_core.accuracy.roundings import Array, Noise
from arm_tosa_core.accuracy.unit_costs import parts_of, shared_out, worth_refining
from arm_tosa_core.accuracy.units import Unit

COUNT = 11


def _noise(floor: Array, needs: Chosen, powers: Array, alike: float = 0.0) -> Noise:
    """Errors of these powers, [outputs] and [roundings, outputs]; ``alike`` is how much they correlate."""
    sizes = np.sqrt(np.concatenate([floor[None], powers])).T
    products = sizes[:, :, None] * sizes[:, None, :]
    own = np.eye(sizes.shape[1])
    return Noise(products * (own + alike * (1 - own)), needs, np.ones(len(powers)))


def _random(seed: int) -> tuple[Noise, Costs]:
    """A graph of layers, each reading one or two earlier ones; noises of very different powers; 1 to 3 outputs."""
    draw = np.random.default_rng(seed)
    rows = [{0}, {COUNT - 1}]
    for i in range(1, COUNT):
        rows += [{int(j), i} for j in draw.choice(i, min(i, draw.integers(1, 3)), replace=False)]
    needs = np.array([[i in row for i in range(COUNT)] for row in rows])
    outputs = int(draw.integers(1, 4))
    powers = 10 ** (draw.uniform(-5, -1, (len(rows), 1)) + draw.uniform(-1, 1, (len(rows), outputs)))
    units = 10 ** draw.uniform(1, 3, COUNT)
    pairs = np.array([sorted(row) for row in rows if len(row) == 2])
    savings = 0.05 * units[pairs].min(1)
    return _noise(np.full(outputs, 10 ** draw.uniform(-6, -4)), needs, powers), Costs(units, pairs, savings)


@pytest.mark.parametrize("seed", range(8))
def test_plans_are_near_the_best_of_all(seed: int) -> None:
    planner = Planner(*_random(seed))
    every = np.array(list(itertools.product([False, True], repeat=COUNT)))
    errors, costs = planner.errors(every), planner.costs.of(every)
    for share in (0.1, 0.3, 0.6):
        limit = share * costs.max()
        found = planner.within(limit)
        assert found.cost <= limit
        assert 10 * np.log10(found.error / errors[costs <= limit].min()) < 1


def test_a_rounding_between_two_units_needs_both() -> None:
    """Each alone gains nothing, so that one unit at a time finds no way."""
    needs = np.array([[True, True, False], [False, False, True]])
    noise = _noise(np.array([1e-6]), needs, np.array([[0.1], [1e-4]]))
    costs = Costs(np.array([5.0, 5.0, 1.0]), np.zeros((0, 2), np.int64), np.zeros(0))
    planner = Planner(noise, costs)
    assert planner.within(10).units == (0, 1)
    assert planner.within(11).units == (0, 1, 2)
    assert planner.within(9).units == (2,)


def test_the_worst_output_comes_first_and_the_others_where_it_is_at_its_best() -> None:
    noise = _noise(np.array([1e-2, 1e-6]), np.eye(2, dtype=bool), np.array([[1.0, 0.0], [0.0, 1e-3]]))
    planner = Planner(noise, Costs(np.ones(2), np.zeros((0, 2), np.int64), np.zeros(0)))
    assert planner.within(1).units == (0,)
    assert planner.within(2).units == (0, 1)
    assert Planner(noise, planner.costs, [1]).within(1).units == (1,)


def test_errors_with_the_same_signs_are_more_than_their_powers() -> None:
    noise = _noise(np.zeros(1), np.eye(2, dtype=bool), np.ones((2, 1)), alike=1.0)
    planner = Planner(noise, Costs(np.ones(2), np.zeros((0, 2), np.int64), np.zeros(0)))
    two, one = planner.errors(np.array([[False, False], [False, True]]))
    assert two / one == pytest.approx(4, rel=0.2)  # not 2


def test_neighbours_that_save_together() -> None:
    costs = Costs(np.array([10.0, 10.0]), np.array([[0, 1]]), np.array([8.0]))
    assert list(costs.of(np.array([[True, False], [True, True]]))) == [10, 12]


def test_no_plan_is_expected_to_cost_less_than_its_dearest_unit() -> None:
    """Savings are estimates: of many neighbours together they may be more than all cost."""
    costs = Costs(np.array([5.0, 7.0, 1.0]), np.array([[0, 1], [1, 2]]), np.array([6.0, 9.0]))
    plans = np.array([[True, True, True], [False, True, True], [True, False, True], [False] * 3])
    assert costs.of(plans).tolist() == [7.0, 7.0, 6.0, 0.0]


def test_one_group_is_planned_within_a_limit_whatever_larger_plans_cost() -> None:
    needs = np.array([[True, False, False], [False, True, False], [False, False, True]])
    noise = _noise(np.array([1e-6]), needs, np.array([[1e-2], [1e-1], [1e-4]]))
    planner = Planner(noise, Costs(np.array([2.0, 50.0, 1.0]), np.zeros((0, 2), np.int64), np.zeros(0)))
    assert [plan.units for plan in planner.single(10.0)] == [(0,), (2,)]  # unit 1 gains most, beyond the limit


@pytest.mark.parametrize(
    ("modules", "most", "parts"),
    [
        # As deep as names tell few parts apart; an addition belongs to what is in front of it.
        (["stem", "b.0.x", "b.0.y", None, "b.1.x", "b.1.y", None, "head"], 4, [[0], [1, 2, 3], [4, 5, 6], [7]]),
        (["stem", "b.0.x", "b.0.y", None, "b.1.x", "b.1.y", None, "head"], 3, [[0], [1, 2, 3, 4, 5, 6], [7]]),
        (["a", "b.0", "b.1", "b.2", "b.3", "b.4"], 4, [[0], [1, 2], [3, 4], [5]]),  # too many to tell all apart
        (["0", "1", "2", "3", "4"], 2, [[0, 1, 2], [3, 4]]),  # names of one level: runs of layers
        ([None, None, None, "x"], 2, [[0, 1, 2], [3]]),
    ],
)
def test_parts_are_modules(modules: list[str | None], most: int, parts: list[list[int]]) -> None:
    units = [Unit(f"u{i}", () if name is None else (name,), (), "") for i, name in enumerate(modules)]
    assert parts_of(units, most) == parts


def _chain(powers: Sequence[float], moved: Sequence[float]) -> Noise:
    """Four units in a row, with a rounding between each two."""
    needs = np.array([[True, True, False, False], [False, True, True, False], [False, False, True, True]])
    return replace(_noise(np.array([1e-6]), needs, np.array(powers)[:, None]), elements=np.array(moved))


def test_parts_that_make_most_noise_are_refined() -> None:
    noise = _chain([1e-4, 1e-3, 1e-1], [1, 1, 1])
    assert worth_refining([[0], [1], [2, 3]], noise, 4) == [0, 1, 2]
    assert worth_refining([[0], [1], [2, 3]], noise, 3) == [1, 2]
    assert worth_refining([[0], [1], [2, 3]], noise, 1) == [1]  # the noisiest one has too many units


def test_units_cost_what_was_estimated_of_their_parts() -> None:
    noise = _chain([1e-3, 1e-3, 1e-3], [10, 20, 30])
    costs = shared_out([[0, 1], [2, 3]], [30.0, 50.0], {2: 40.0, 3: 25.0}, 70.0, noise)
    rows = {
        "0 1": [1, 1, 0, 0],
        "2 3": [0, 0, 1, 1],
        "2": [0, 0, 1, 0],
        "3": [0, 0, 0, 1],
        "all": [1, 1, 1, 1],
        "": [0] * 4,
    }
    found = dict(zip(rows, costs.of(np.array(list(rows.values()), bool)), strict=True))
    assert found == pytest.approx({"0 1": 30, "2 3": 50, "2": 40, "3": 25, "all": 70, "": 0})
    assert costs.units[0] < costs.units[1]  # which reads and writes more numbers
