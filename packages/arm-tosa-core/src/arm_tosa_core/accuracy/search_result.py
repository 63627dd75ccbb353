"""What a search measured and found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .compare import OutputError
from .goal import Bounds, Goal
from .model import Model
from .scheme import Scheme
from .units import Unit


@dataclass(frozen=True)
class Point:
    """A scheme that was measured.

    Args:
        units: names of those in 16 bits.
        value: what decides: the metric, or the SQNR of the worst output, dB.
        outputs: a figure for each.
        pareto: whether no other point is both as accurate and as cheap.
    """

    scheme: Scheme
    units: tuple[str, ...]
    value: float
    outputs: tuple[OutputError, ...]
    cost: float
    pareto: bool = True


@dataclass(frozen=True)
class SearchCost:
    """What a search took.

    Args:
        quantized: how many schemes were quantized with all the data and compared.
        estimated: how often the target estimated a scheme.
        seconds: of the clock on the wall.
    """

    quantized: int
    estimated: int
    seconds: float


@dataclass(frozen=True)
class Search:
    """What was found.

    Args:
        figure: that of the target, such as ``cycles``.
        measure: what the values of points are: ``metric``, or ``SQNR, dB``.
        bounds: what was asked for.
        points: by cost.
        chosen: the most accurate one within the budget, or the cheapest that loses no more than allowed; None if none
            keeps the bounds.
        groups: the units of ``chosen``, those together whose numbers go from one to the other.
        units: how many units there are.
        spent: what the search took.
    """

    figure: str
    measure: str
    bounds: Bounds
    points: list[Point]
    chosen: Point | None
    groups: list[tuple[Unit, ...]]
    units: int
    spent: SearchCost


class StartingPoint:
    """What a model had been asked when a search began."""

    def __init__(self, model: Model) -> None:
        self._model, self._quantized, self._estimated = model, model.quantized, model.estimated
        self._started = time.monotonic()

    def spent(self) -> SearchCost:
        """What was asked since."""
        model = self._model
        seconds = time.monotonic() - self._started
        return SearchCost(model.quantized - self._quantized, model.estimated - self._estimated, seconds)


def measure_of(model: Model) -> str:
    """What the values of points are."""
    return "SQNR, dB" if model.metric is None else "metric"


def ranked(points: Sequence[Point], bounds: Bounds, goal: Goal) -> tuple[list[Point], Point | None]:
    """Points by cost, each told whether none is both as accurate and as cheap; and the one that a goal asks for."""
    best, marked = float("-inf"), []
    for point in sorted(points, key=lambda p: (p.cost, -p.value)):
        marked.append(replace(point, pareto=point.value > best))
        best = max(best, point.value)
    admitted = [point for point in marked if bounds.admit(point.value, point.cost)]
    if goal.max_drop is None:
        return marked, max(admitted, key=lambda p: (p.value, -p.cost), default=None)
    return marked, min(admitted, key=lambda p: (p.cost, -p.value), default=None)
