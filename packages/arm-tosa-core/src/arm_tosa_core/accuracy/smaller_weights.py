"""Which layers to give compressed weights, so that the model is cheaper than its scheme by a budget.

One number, the slope of ``weight_compression``, decides how much is rounded away; a larger one is cheaper and loses
more. The search brackets the least slope that keeps the budget, and then gives weights back to the layers whose bytes
cost nothing. Each trial is quantized, measured and estimated as a whole, and only what was measured is chosen.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..quantize.weight_compression import Compression
from ..support.errors import UsageError
from .compare import Comparison
from .goal import Bounds, Goal
from .model import Model, Quantized
from .scheme import Scheme
from .search_result import Began, Point, Search, measure_of, ranked
from .units import WIDE, Unit

_FACTOR = 8.0
_STEPS = 8
_HALVED = 3
_GIVEN_BACK = 12


def search_smaller_weights(model: Model, plain: Quantized, comparison: Comparison, goal: Goal) -> Search:
    """Finds the layers to compress, beside the exceptions that the scheme given has.

    Args:
        plain: the model under its scheme, without compression.
        comparison: of it.

    Raises:
        UsageError: the target stores weights as they are or estimates no such figure, or the scheme compresses already.
    """
    if plain.scheme.compression is not None:
        raise UsageError("the search compresses weights, and those of the scheme given are compressed: leave that out")
    trials = _Trials(model, plain, comparison, goal)
    found = trials.least_slope()
    if found is not None:
        trials.give_back(found)
    return trials.finish(comparison)


class _Trials:
    """What was tried so far."""

    def __init__(self, model: Model, plain: Quantized, comparison: Comparison, goal: Goal) -> None:
        self.model, self.plain, self.goal = model, plain, goal
        self.began = Began(model)
        cost = model.cost_of(plain, goal.figure)
        self.first = Point(plain.scheme, (), model.figure(comparison), tuple(comparison.outputs), cost)
        assert goal.budget is not None
        most = goal.budget.limit(cost)
        self.bounds = Bounds(most, goal.least_value(comparison.float_metric, self._exact))
        self.points = [self.first]
        self.saved: dict[str, int] = {}  # bytes that each layer gained, when last tried

    def _exact(self) -> float:
        return self.model.figure(self.model.compare(self.model.quantize(Scheme(WIDE)), operators=False))

    def try_(self, slope: float, keep: tuple[str, ...] = ()) -> Point:
        """Quantizes, measures and estimates a slope."""
        self.model.progress("trying slopes", len(self.points), len(self.points) + 1)
        scheme = replace(self.plain.scheme, compression=Compression(slope=slope, keep=keep))
        made = self.model.quantize(scheme)
        compared = self.model.compare(made, operators=False)
        layers = () if made.compressed is None else made.compressed.layers
        saved = {layer.name: layer.before - layer.after for layer in layers}
        self.saved |= saved
        names = tuple(name for name, gained in saved.items() if gained > 0)
        cost = self.model.cost_of(made, self.goal.figure)
        point = Point(scheme, names, self.model.figure(compared), tuple(compared.outputs), cost)
        self.points.append(point)
        return point

    def least_slope(self) -> tuple[float, Point] | None:
        """The least slope found that keeps the budget, and what was measured; None if none of those tried does."""
        weights = sum(tensor.numel() for tensor in self.model.program.state_dict.values()) or 1
        known = [o.sqnr_db for o in self.first.outputs if o.sqnr_db is not None and math.isfinite(o.sqnr_db)]
        noise = 10 ** (-min(known, default=60.0) / 10)
        slope, below = 2 * math.log(2) * noise / weights, 0.0  # as if all bits had one slope, for half as much noise
        for _ in range(_STEPS):
            found = self.try_(slope)
            if found.cost <= self.bounds.most:
                break
            below, slope = slope, slope * _FACTOR
        else:
            return None
        below, above = below or slope / _FACTOR**2, slope
        for _ in range(_HALVED):
            middle = math.sqrt(below * above)
            point = self.try_(middle)
            if point.cost <= self.bounds.most:
                above, found = middle, point
            else:
                below = middle
        return above, found

    def give_back(self, found: tuple[float, Point]) -> None:
        """Keeps the weights of layers that the budget does not need compressed, in halves, the smallest first."""
        slope, best = found
        waiting = _halves(sorted(best.units, key=lambda name: self.saved[name]))
        kept: tuple[str, ...] = ()
        for _ in range(_GIVEN_BACK):
            if not waiting:
                break
            part, *waiting = waiting
            point = self.try_(slope, (*kept, *part))
            if point.cost <= self.bounds.most and point.value >= best.value:
                best, kept = point, (*kept, *part)
            else:
                waiting += _halves(part)

    def finish(self, comparison: Comparison) -> Search:
        """What was found."""
        points, chosen = ranked(self.points, self.bounds, self.goal)
        sources = {row.name: row.source for row in comparison.operators}
        units = () if chosen is None else chosen.units
        groups: list[tuple[Unit, ...]] = [(Unit(name, (), (name,), sources.get(name, "")),) for name in units]
        return Search(
            self.goal.figure,
            measure_of(self.model),
            self.bounds,
            points,
            chosen,
            groups,
            len({name for point in points for name in point.units}),
            self.began.spent(),
            what="with compressed weights",
        )


def _halves(names: list[str]) -> list[list[str]]:
    middle = len(names) // 2
    return [names[:middle], names[middle:]] if middle else []
