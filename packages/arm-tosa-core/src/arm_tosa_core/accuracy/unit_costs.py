"""What 16 bits cost per unit, by the estimate of the target.

An estimate takes seconds, so that only small models are estimated unit by unit. Of others it is whole parts, by the
names of modules, and then the units of those parts that make most of the noise; the cost of another part is shared out
among its units by the numbers that they round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .model import Model
from .plans import Costs
from .roundings import Array, Noise
from .scheme import Scheme
from .units import Unit, Units

#: Units at most that are estimated one by one.
_ESTIMATED = 40
#: Parts at most of a model that has more.
_PARTS = 16


def unit_costs(model: Model, units: Units, noise: Noise, scheme: Scheme, figure: str) -> Costs:
    """The cost of each unit, and what neighbours save: so that none and all cost what the target estimates of them."""
    estimated = _Estimated(model, units, scheme, figure)
    count = len(units.all)
    parts = [[i] for i in range(count)] if count <= _ESTIMATED else parts_of(units.all, _PARTS)
    costs = estimated.of(parts, "estimating layers" if count <= _ESTIMATED else "estimating parts")
    matter = [] if count <= _ESTIMATED else worth_refining(parts, noise, _ESTIMATED - len(parts))
    refined = [i for part in matter for i in parts[part]]
    alone = dict(zip(refined, estimated.of([[i] for i in refined], "estimating layers"), strict=True))
    return shared_out(parts, costs, alone, estimated.of([list(range(count))], "estimating all")[0], noise)


class _Estimated:
    """Estimates of what some units cost in 16 bits beyond the scheme as it is."""

    def __init__(self, model: Model, units: Units, scheme: Scheme, figure: str) -> None:
        self.model, self.units, self.scheme, self.figure = model, units, scheme, figure
        self.base = model.quick_cost(scheme)[figure]

    def of(self, parts: Sequence[Sequence[int]], what: str) -> list[float]:
        found = []
        for done, part in enumerate(parts):
            self.model.progress(what, done, len(parts))
            cost = self.model.quick_cost(self.units.scheme(self.scheme, part))[self.figure]
            found.append(max(cost - self.base, 0.0))
        return found


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


def worth_refining(parts: Sequence[Sequence[int]], noise: Noise, most: int) -> list[int]:
    """The parts whose roundings make most noise, as long as they have ``most`` units together."""
    powers = np.diagonal(noise.products, axis1=1, axis2=2)[:, 1:].max(0)  # of the output that each disturbs most
    made = [float(powers[noise.needs[:, list(part)].any(1)].sum()) for part in parts]
    found: list[int] = []
    for part in sorted(range(len(parts)), key=lambda i: -made[i]):
        if len(parts[part]) <= most:
            found.append(part)
            most -= len(parts[part])
    return sorted(found)


def shared_out(
    parts: Sequence[Sequence[int]], costs: Sequence[float], alone: dict[int, float], together: float, noise: Noise
) -> Costs:
    """Costs of units from those of parts.

    What two neighbours save grows with the numbers that go between them. It is set so that each part, and all together,
    cost what was estimated.

    Args:
        costs: of the parts; of parts of one unit these are its own.
        alone: of units that were estimated by themselves: of a part either all or none.
        together: of all units.
    """
    count = noise.needs.shape[1]
    part_of = np.zeros(count, int)
    for number, part in enumerate(parts):
        part_of[list(part)] = number
    shared = np.flatnonzero(noise.needs.sum(1) == 2)
    pairs = np.array([np.flatnonzero(noise.needs[r]) for r in shared], np.int64).reshape(-1, 2)
    moved = noise.elements[shared]
    between = part_of[pairs[:, 0]] != part_of[pairs[:, 1]]
    rate = _ratio(sum(costs) - together, moved[between].sum())
    rates = np.full(len(parts), rate)
    units, read = np.zeros(count), noise.elements @ noise.needs
    for number, part in enumerate(parts):
        inside = moved[(part_of[pairs] == number).all(1)].sum()
        if part[0] in alone:
            units[list(part)] = [alone[i] for i in part]
            rates[number] = _ratio(units[list(part)].sum() - costs[number], inside)
        else:
            units[list(part)] = (costs[number] + rate * inside) * _shares(read[list(part)])
    return Costs(units, pairs, np.where(between, rate, rates[part_of[pairs[:, 0]]]) * moved)


def _ratio(excess: float, moved: float) -> float:
    return excess / moved if moved else 0.0


def _shares(read: Array) -> Array:
    total = read.sum()
    return np.asarray(read / total if total else np.full(len(read), 1 / len(read)))
