"""Which layers to keep in 16 bits, within a budget or a loss of accuracy.

Plans come from the noise of each rounding and the cost of each unit (``plans``); each that is tried is quantized,
measured and estimated as a whole, and only what was measured is chosen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..lowering.rule_set import RuleSet
from ..support.errors import UsageError
from .compare import Comparison, OutputError
from .model import Model, OutOfTime, Quantized
from .plans import Planner
from .roundings import Array, Noise, find_roundings, measure, wide_parameters
from .scheme import Scheme
from .search_result import Bounds, Goal, Point, Search, ranked
from .units import WIDE, Unit, Units, find_units

_SAMPLES = 12
#: Limits of cost that plans are made for.
_STEPS, _HOPELESS_STEPS = 6, 3
#: Nearer limits than this part of what int8 costs are not told apart.
_FINE = 0.01
#: With a metric, which may look at one output only, plans are also made for each of the first few alone.
_OUTPUTS = 4


def search(model: Model, int8: Quantized, comparison: Comparison, goal: Goal) -> Search:
    """Finds the units to keep in 16 bits, beside the exceptions that the scheme given has.

    Where the model's progress raises ``OutOfTime``, what was measured until then is chosen from.

    Raises:
        UsageError: the target has no int16, or estimates no such figure, or int8 exceeds the budget.
        OutOfTime: nothing was measured.
    """
    if not model.spec.tosa_spec.support_extension("int16"):
        raise UsageError(f"the search is for layers to keep in 16 bits, and {model.spec.tosa_spec} has no int16")
    trials = _Trials(model, int8, comparison, goal)
    try:
        for planner in trials.planners():
            trials.bisect(planner)
            if trials.is_hopeless():
                break
    except OutOfTime:
        return trials.finish(is_cut_short=True)
    return trials.finish()


@dataclass(frozen=True)
class _Measured:
    """What a point has beside its scheme, in the cache."""

    value: float
    outputs: list[OutputError]
    errors: list[float]
    cost: float


@dataclass(frozen=True)
class _Noise:
    """``roundings.Noise`` in the cache."""

    powers: list[list[float]]
    needs: list[list[bool]]
    elements: list[float]

    def whole(self) -> Noise:
        needs = np.array(self.needs, bool).reshape(len(self.elements), -1)
        return Noise(np.array(self.powers), needs, np.array(self.elements))


@dataclass(frozen=True)
class _Costs:
    """What ``unit_costs`` gives, in the cache."""

    costs: list[float]


class _Trials:
    """What was tried so far, and what to try next."""

    def __init__(self, model: Model, int8: Quantized, comparison: Comparison, goal: Goal) -> None:
        self.model, self.int8, self.goal = model, int8, goal
        self.quantized, self.estimated, self.started = model.quantized, model.estimated, time.monotonic()
        cost = model.cost_of(int8, goal.figure)
        first = _point(int8.scheme, (), self._measured(comparison, cost))
        self.first = first
        self.points: dict[tuple[int, ...], Point] = {(): first}
        exported = {node.name for node in model.program.graph.nodes}
        rules = RuleSet.of(model.spec.target().name)
        self.units = find_units(exported, int8.prepared, comparison.operators, int8.scheme, rules)
        self.whole: list[Point] = []  # int16x8, which may be more than all units
        self.bounds = Bounds(self._most(), self._least(comparison))

    def _most(self) -> float:
        budget, cost = self.goal.budget, self.first.cost
        if budget is None:
            return math.inf
        if cost > (limit := budget.limit(cost)):
            name = self.int8.scheme.scheme
            raise UsageError(f"{name} as it is takes {cost:g} {budget.figure}, and the budget is {limit:g}")
        return limit

    def _least(self, comparison: Comparison) -> float:
        def exact() -> float:
            point = self._point(Scheme(WIDE), tuple(unit.name for unit in self.units.all))
            if not (self.int8.scheme.modules or self.int8.scheme.nodes):
                self.whole = [point]
            return point.value

        if self.goal.least is not None:
            exact()  # which may be cheaper than parts
        return self.goal.least_value(comparison.float_metric, exact)

    def planners(self) -> list[Planner]:
        """One for all outputs; with a metric also one for each."""
        model, int8 = self.model, self.int8
        if not self.units.all:
            return []
        if all(output.sqnr_db is None for output in self.first.outputs):
            raise UsageError("the search measures noise in real outputs: give a model that returns the scores as well")
        name = f"{self.goal.figure} {int8.scheme}"
        noise = model.memory.of(_Noise, f"noise {name}", self._noise).whole()
        if not len(noise.needs):
            return []
        figure, units = self.goal.figure, self.units
        costs = model.memory.of(
            _Costs, f"costs {name}", lambda: _Costs(unit_costs(model, units, noise, int8.scheme, figure).tolist())
        ).costs
        outputs = len(noise.powers)
        alone = range(min(outputs, _OUTPUTS)) if model.metric is not None and outputs > 1 else ()
        return [Planner(noise, np.array(costs), outputs) for outputs in (None, *([i] for i in alone))]

    def _noise(self) -> _Noise:
        model, int8 = self.model, self.int8
        everything = self.units.scheme(int8.scheme, range(len(self.units.all)))
        wide = wide_parameters(model.quantize(everything).converted)
        roundings = find_roundings(int8.converted, self.units)
        samples = model.evaluation[:: max(len(model.evaluation) // _SAMPLES, 1)][:_SAMPLES]
        found = measure(
            int8.prepared,
            int8.converted,
            wide,
            roundings,
            self.units,
            samples,
            lambda done, total: model.progress("measuring roundings", done, total),
        )
        return _Noise(found.powers.tolist(), found.needs.tolist(), found.elements.tolist())

    def try_(self, units: Sequence[int]) -> Point:
        """Quantizes, measures and estimates a plan, once."""
        key = tuple(sorted(units))
        if key not in self.points:
            scheme = self.units.scheme(self.int8.scheme, key)
            self.points[key] = self._point(scheme, tuple(self.units.all[i].name for i in key))
        return self.points[key]

    def _point(self, scheme: Scheme, units: tuple[str, ...]) -> Point:
        def measured() -> _Measured:
            quantized = self.model.quantize(scheme)
            compared = self.model.compare(quantized, operators=False)
            return self._measured(compared, self.model.cost_of(quantized, self.goal.figure))

        self.model.progress("trying schemes", len(self.points), len(self.points) + 1)
        name = f"point {self.goal.figure} {scheme}"
        return _point(scheme, units, self.model.memory.of(_Measured, name, measured))

    def _measured(self, compared: Comparison, cost: float) -> _Measured:
        errors = list(compared.errors) if self.model.metric is None else []
        return _Measured(self.model.figure(compared), compared.outputs, errors, cost)

    def bisect(self, planner: Planner) -> None:
        """Tries plans by expected cost: the dearest within the budget, or the first that is accurate enough."""
        below, above = 0.0, float(planner.costs.sum())
        if self.goal.is_cheapest:
            above = min(
                [above, *(point.cost - self.first.cost for point in self.points.values() if self._keeps(point))]
            )
        else:  # costs are expected as a sum, which is not far off
            room = self.bounds.most - self.first.cost
            below, above = room / 2, 2 * room
        for _ in range(_HOPELESS_STEPS if self.is_hopeless() else _STEPS):
            if self.goal.is_cheapest and above - below < _FINE * self.first.cost:
                break
            middle = (below + above) / 2
            if self._is_enough(self.try_(planner.within(middle).units)):
                above = middle
            else:
                below = middle
        self.try_(range(len(self.units.all)))

    def is_hopeless(self) -> bool:
        """Whether nothing was accurate enough, 16 bits everywhere included: other plans would be by chance alone."""
        return bool(self.whole) and not any(map(self._keeps, [*self.whole, *self.points.values()]))

    def _is_enough(self, point: Point) -> bool:
        """Whether only cheaper plans are worth a try."""
        if not self.goal.is_cheapest:
            return point.cost > self.bounds.most
        return self._keeps(point)

    def _keeps(self, point: Point) -> bool:
        return point.value >= self.bounds.least

    def finish(self, *, is_cut_short: bool = False) -> Search:
        points, chosen = ranked([*self.points.values(), *self.whole], self.bounds, self.goal)
        groups = [] if chosen is None else self._groups(chosen)
        return Search(
            self.goal.figure,
            self.model.measure,
            self.bounds,
            points,
            chosen,
            groups,
            len(self.units.all),
            self.model.quantized - self.quantized,
            self.model.estimated - self.estimated,
            time.monotonic() - self.started,
            is_cut_short,
        )

    def _groups(self, point: Point) -> list[tuple[Unit, ...]]:
        """Units that numbers go between are one group."""
        chosen = {i for i, unit in enumerate(self.units.all) if unit.name in point.units}
        group = {i: {i} for i in chosen}
        for rounding in find_roundings(self.int8.converted, self.units):
            together = chosen & (rounding.needs or frozenset())
            if len(together) > 1:
                merged = set().union(*(group[i] for i in together))
                group.update(dict.fromkeys(merged, merged))
        found = sorted({tuple(sorted(members)) for members in group.values()})
        return [tuple(self.units.all[i] for i in members) for members in found]


def _point(scheme: Scheme, units: tuple[str, ...], measured: _Measured) -> Point:
    return Point(scheme, units, measured.value, tuple(measured.outputs), tuple(measured.errors), measured.cost)


#: Parts that are estimated, at most.
_PARTS = 16


def unit_costs(model: Model, units: Units, noise: Noise, scheme: Scheme, figure: str) -> Array:
    """[units], of each what 16 bits cost beyond the scheme as it is, by the estimate of the target.

    An estimate takes seconds: of models with many units, whole parts are estimated, and the cost of a part is shared
    out among its units by the numbers that they round.
    """
    base = model.quick_cost(scheme)[figure]
    parts = parts_of(units.all, _PARTS)
    read = noise.elements @ noise.needs
    costs = np.zeros(len(units.all))
    for done, part in enumerate(parts):
        model.progress("estimating layers", done, len(parts))
        cost = max(model.quick_cost(units.scheme(scheme, part))[figure] - base, 0.0)
        total = read[part].sum()
        costs[part] = cost * (read[part] / total if total else 1 / len(part))
    return costs


def parts_of(units: Sequence[Unit], most: int) -> list[list[int]]:
    """Parts of a model as positions of its units: ``most``, or as many as there are units.

    The largest part is divided by the names of its modules, again and again; where that makes too many, neighbours stay
    together. A unit in no module of its own, such as an addition, belongs to the part in front of it.
    """
    paths: list[list[str]] = []
    for unit in units:
        paths.append(unit.modules[0].split(".") if unit.modules else paths[-1] if paths else [])
    parts = [list(range(len(units)))]
    while len(parts) < min(most, len(units)):
        largest = max(range(len(parts)), key=lambda i: len(parts[i]))
        pieces = _pieces(parts[largest], paths)
        runs = np.array_split(np.arange(len(pieces)), min(len(pieces), most - len(parts) + 1))
        parts[largest : largest + 1] = [[i for piece in run for i in pieces[piece]] for run in runs]
    return parts


def _pieces(part: Sequence[int], paths: Sequence[Sequence[str]]) -> list[list[int]]:
    """A part divided by the first level of names that tells some of its units apart; by none: each unit."""
    for depth in range(1, max(len(paths[i]) for i in part) + 1):
        found: dict[tuple[str, ...], list[int]] = {}
        for i in part:
            found.setdefault(tuple(paths[i][:depth]), []).append(i)
        if len(found) > 1:
            return list(found.values())
    return [[i] for i in part]
