"""What a search measured and found."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from ..quantize.probe.judge import accepts
from ..support.errors import UsageError
from .compare import OutputError
from .scheme import Scheme
from .units import Unit


@dataclass(frozen=True)
class Point:
    """A scheme that was measured.

    Args:
        units: names of those in 16 bits.
        value: what decides: the metric, or the SQNR of the worst output, dB.
        outputs: a figure for each.
        errors: of each sample that judges, see ``Comparison``; none where a metric decides.
        pareto: whether no other point is both as accurate and as cheap.
    """

    scheme: Scheme
    units: tuple[str, ...]
    value: float
    outputs: tuple[OutputError, ...]
    errors: tuple[float, ...]
    cost: float
    pareto: bool = True


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
        quantized: how many schemes were quantized with all the data and compared.
        estimated: how often the target estimated a scheme.
        seconds: that it took, of the clock on the wall.
        is_cut_short: whether its time was over before it had tried all that it would have.
    """

    figure: str
    measure: str
    bounds: Bounds
    points: list[Point]
    chosen: Point | None
    groups: list[tuple[Unit, ...]]
    units: int
    quantized: int
    estimated: int
    seconds: float
    is_cut_short: bool = False


def ranked(points: Sequence[Point], bounds: Bounds, goal: Goal) -> tuple[list[Point], Point | None]:
    """Points by cost, each told whether none is both as accurate and as cheap; and the one that a goal asks for.

    Args:
        points: the first has no unit in 16 bits; by the SQNR, others are chosen in its place where the judge of
            quantization says that they have less error.
    """
    best, marked = float("-inf"), []
    for point in sorted(points, key=lambda p: (p.cost, -p.value)):
        marked.append(replace(point, pareto=point.value > best))
        best = max(best, point.value)
    admitted = [point for point in marked if bounds.admit(point.value, point.cost)]
    if not goal.is_cheapest:
        int8 = torch.tensor(points[0].errors)
        sure = [p for p in admitted if not p.units or not p.errors or accepts(int8, torch.tensor(p.errors))]
        return marked, max(sure, key=lambda p: (p.value, -p.cost), default=None)
    return marked, min(admitted, key=lambda p: (p.cost, -p.value), default=None)


_BUDGET = re.compile(r"(?P<figure>\w+)=(?P<sign>[+]?)(?P<number>\d+(?:\.\d+)?)(?P<percent>%?)")


@dataclass(frozen=True)
class Budget:
    """A bound on a figure that the target estimates.

    Args:
        figure: ``cycles``, ``sram_kib``, ...
        number: the bound; with ``percent``, by how much the figure of int8 may be exceeded.
    """

    figure: str
    number: float
    percent: bool

    def limit(self, int8: float) -> float:
        """The bound as a number, given what int8 costs."""
        return int8 * (1 + self.number / 100) if self.percent else self.number


def parse_budget(text: str) -> Budget:
    """``cycles=+10%`` or ``cycles=2000000``.

    Raises:
        UsageError: it is neither.
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None or (match["sign"] and not match["percent"]):
        raise UsageError(f"--budget {text!r}: write FIGURE=+N% or FIGURE=N, such as cycles=+10%")
    return Budget(match["figure"], float(match["sign"] + match["number"]), bool(match["percent"]))


@dataclass(frozen=True)
class Goal:
    """What is asked for.

    Args:
        budget: the most that it may cost; None: anything.
        max_drop: the most that may be lost: of the metric in its own units below float, of the SQNR in dB below that
            of int16x8, since float has none. The cheapest scheme is sought then. None: the most accurate one is.
        least: in place of ``max_drop`` the least metric, or the least SQNR of the worst output in dB.
    """

    budget: Budget | None = None
    max_drop: float | None = None
    least: float | None = None

    def __post_init__(self) -> None:
        if self.max_drop is not None and not (self.max_drop >= 0 and math.isfinite(self.max_drop)):
            raise UsageError(f"--max-drop {self.max_drop:g}: give how much may be lost, a number that is not negative")

    @property
    def is_cheapest(self) -> bool:
        """Whether the cheapest scheme is sought that is accurate enough; if not, the most accurate one."""
        return self.max_drop is not None or self.least is not None

    @property
    def figure(self) -> str:
        """Which of the target's figures counts."""
        return "cycles" if self.budget is None else self.budget.figure

    def least_value(self, float_metric: float | None, exact: Callable[[], float]) -> float:
        """The least accuracy allowed; minus infinity if any is.

        Args:
            float_metric: of the model in float; None where SQNR is what counts.
            exact: measures the SQNR of int16x8.
        """
        if self.least is not None:
            return self.least
        if self.max_drop is None:
            return -math.inf
        return (exact() if float_metric is None else float_metric) - self.max_drop


@dataclass(frozen=True)
class Bounds:
    """A goal in numbers.

    Args:
        most: of the cost; infinite without a budget.
        least: of the accuracy; minus infinity without ``max_drop``.
    """

    most: float
    least: float

    def admit(self, value: float, cost: float) -> bool:
        """Whether both bounds are kept."""
        return cost <= self.most and value >= self.least
