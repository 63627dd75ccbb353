"""Which units to keep in 16 bits, by the noise of each rounding and the cost of each unit: nothing is quantized here.

Errors add, and a rounding goes away when all units that it needs are chosen. So units are chosen in groups: those that
a rounding needs, two such groups that share a unit, and each unit with all its neighbours. Plans grow by the group that
gains most per cost, and shrink from all units by the unit that gains least per cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .roundings import Array, Noise

Chosen = npt.NDArray[np.bool_]

#: Of the norm over outputs: nearly that of the worst.
_NORM = 8
#: What the mean over outputs counts for, in dB per dB of the worst: where that is as good as it gets, others improve.
_OTHERS = 0.03
_MOST_GROUPS = 2000
#: Plans that are looked at for one exchange; of more groups fewer units are exchanged.
_LOOKED_AT = 10_000
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Plan:
    """Units in 16 bits, and what is expected of them.

    Args:
        units: positions.
        error: relative noise of the worst output, about.
        cost: beyond the model as it is.
    """

    units: tuple[int, ...]
    error: float
    cost: float


class Planner:
    """Finds plans.

    Args:
        costs: [units], of each in 16 bits beyond the model as it is.
        outputs: those that count; None: all.
    """

    def __init__(self, noise: Noise, costs: Array, outputs: Sequence[int] | None = None) -> None:
        self.powers = noise.powers if outputs is None else noise.powers[list(outputs)]
        self.needs, self.costs = noise.needs, costs
        self.count = noise.needs.shape[1]
        self.groups = _groups(noise.needs)

    def front(self) -> list[Plan]:
        """Plans by cost, each with less error than those before; the first has no unit."""
        front: list[Plan] = []
        for plan in sorted(map(self._plan, self._rows()), key=lambda plan: (plan.cost, plan.error, plan.units)):
            if not front or plan.error < front[-1].error:
                front.append(plan)
        return front

    def within(self, limit: float) -> Plan:
        """A plan of little error within a limit: one of the front, with groups exchanged while that helps."""
        inside = [plan for plan in self.front() if plan.cost <= limit]
        found = []
        for start in {inside[0].units, inside[-1].units}:
            better: Chosen | None = np.isin(np.arange(self.count), start)
            while better is not None:
                row, better = better, self._exchanged(better, limit)
            found.append(self._plan(row))
        return min(found, key=lambda plan: (plan.error, plan.cost))

    def errors(self, plans: Chosen) -> Array:
        """[plans], relative noise: a norm over the outputs, close to that of the worst; the others count a little."""
        narrow = (~plans).astype(float) @ self.needs.T.astype(float) > 0
        noise = self.powers[:, 0] + narrow @ self.powers[:, 1:].T
        worst = (noise**_NORM).sum(1) ** (1 / _NORM)
        return np.asarray(worst * np.exp(_OTHERS * np.log(noise + _SMALLEST).mean(1)))

    def _plan(self, chosen: Chosen) -> Plan:
        units = tuple(int(i) for i in np.flatnonzero(chosen))
        return Plan(units, float(self.errors(chosen[None])[0]), float(chosen @ self.costs))

    def _rows(self) -> Iterator[Chosen]:
        """Plans as boolean rows, [units]."""
        grown: Chosen | None = np.zeros(self.count, bool)
        while grown is not None:
            yield grown
            grown = self._grown(grown)
        shrunk = np.ones(self.count, bool)
        while shrunk.any():
            yield shrunk
            shrunk = self._shrunk(shrunk)

    def _grown(self, now: Chosen) -> Chosen | None:
        """With the group that gains most per cost, if one gains."""
        plans: Chosen = self.groups | now
        plans = plans[(plans != now).any(1)]
        if not len(plans):
            return None
        gains = np.log(self.errors(now[None])[0] + _SMALLEST) - np.log(self.errors(plans) + _SMALLEST)
        best = int(np.argmax(gains / np.maximum((plans & ~now) @ self.costs, _SMALLEST)))
        found: Chosen = plans[best]
        return found if gains[best] > 0 else None

    def _shrunk(self, now: Chosen) -> Chosen:
        """Without the unit with the least gain per cost."""
        plans = np.repeat(now[None], now.sum(), 0)
        units = np.flatnonzero(now)
        plans[np.arange(len(plans)), units] = False
        lost = np.log(self.errors(plans) + _SMALLEST) - np.log(self.errors(now[None])[0] + _SMALLEST)
        found: Chosen = plans[int(np.argmin(lost / np.maximum(self.costs[units], _SMALLEST)))]
        return found

    def _exchanged(self, now: Chosen, limit: float) -> Chosen | None:
        """With a group more, or with one in place of one unit or of two, if that has less error within the limit."""
        gone = itertools.chain.from_iterable(itertools.combinations(np.flatnonzero(now), n) for n in range(3))
        bases = itertools.islice(gone, 1 + _LOOKED_AT // len(self.groups))
        plans: Chosen = np.concatenate([self.groups | now & ~np.isin(np.arange(self.count), units) for units in bases])
        plans = plans[plans @ self.costs <= limit]
        errors = self.errors(plans)
        if not len(plans) or errors.min() >= self.errors(now[None])[0] * (1 - 1e-9):
            return None
        best: Chosen = plans[int(np.argmin(errors))]
        return best


def _groups(needs: Chosen) -> Chosen:
    """Units that gain together."""
    each = np.unique(needs[needs.any(1)], axis=0)
    count = needs.shape[1]
    rows = [*each]
    for a, b in itertools.combinations(range(len(each)), 2):
        if (each[a] & each[b]).any() and len(rows) < _MOST_GROUPS:
            rows.append(each[a] | each[b])
    for unit in range(count):
        around = each[each[:, unit]]
        if len(around):
            rows.append(around.any(0))
    groups: Chosen = np.unique(np.array(rows, bool).reshape(-1, count), axis=0)
    return groups
