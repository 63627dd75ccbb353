"""Plans of units in 16 bits: beside all plans that there are, on random noises and costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arm_tosa_core.accuracy.plans import Chosen, Planner
from arm_tosa_core.accuracy.roundings import Array, Noise
from arm_tosa_core.accuracy.search import parts_of
from arm_tosa_core.accuracy.units import Unit

COUNT = 11


def _noise(floor: Array, needs: Chosen, powers: Array) -> Noise:
    """Errors of these powers, [outputs] and [roundings, outputs]."""
    return Noise(np.concatenate([floor[None], powers]).T, needs, np.ones(len(powers)))


def _random(seed: int) -> tuple[Noise, Array]:
    """A graph of layers, each reading one or two earlier ones; noises of very different powers; 1 to 3 outputs."""
    draw = np.random.default_rng(seed)
    rows = [{0}, {COUNT - 1}]
    for i in range(1, COUNT):
        rows += [{int(j), i} for j in draw.choice(i, min(i, draw.integers(1, 3)), replace=False)]
    needs = np.array([[i in row for i in range(COUNT)] for row in rows])
    outputs = int(draw.integers(1, 4))
    powers = 10 ** (draw.uniform(-5, -1, (len(rows), 1)) + draw.uniform(-1, 1, (len(rows), outputs)))
    units = 10 ** draw.uniform(1, 3, COUNT)
    return _noise(np.full(outputs, 10 ** draw.uniform(-6, -4)), needs, powers), units


@pytest.mark.parametrize("seed", range(8))
def test_plans_are_near_the_best_of_all(seed: int) -> None:
    planner = Planner(*_random(seed))
    every = np.array(list(itertools.product([False, True], repeat=COUNT)))
    errors, costs = planner.errors(every), every @ planner.costs
    for share in (0.1, 0.3, 0.6):
        found = planner.within(share * costs.max())
        assert found.cost <= share * costs.max()
        assert 10 * np.log10(found.error / errors[costs <= share * costs.max()].min()) < 1


def test_a_rounding_between_two_units_needs_both() -> None:
    """Each alone gains nothing, so that one unit at a time finds no way."""
    needs = np.array([[True, True, False], [False, False, True]])
    noise = _noise(np.array([1e-6]), needs, np.array([[0.1], [1e-4]]))
    planner = Planner(noise, np.array([5.0, 5.0, 1.0]))
    assert planner.within(10).units == (0, 1)
    assert planner.within(11).units == (0, 1, 2)
    assert planner.within(9).units == (2,)


def test_the_worst_output_comes_first_and_the_others_where_it_is_at_its_best() -> None:
    noise = _noise(np.array([1e-2, 1e-6]), np.eye(2, dtype=bool), np.array([[1.0, 0.0], [0.0, 1e-3]]))
    planner = Planner(noise, np.ones(2))
    assert planner.within(1).units == (0,)
    assert planner.within(2).units == (0, 1)
    assert Planner(noise, planner.costs, [1]).within(1).units == (1,)


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
