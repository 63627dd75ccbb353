"""Which units to keep in 16 bits, by the noise of each rounding and the cost of each unit: nothing is quantized here.

Errors add, and a rounding goes away when all units that it needs are chosen. So units are chosen in groups:
those that a rounding needs, with their neighbours. Plans grow by the group that gains most per cost, and shrink from
all units by the one that is missed least; what both go through is the list to try.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
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
_STARTS = 3
#: Measured exchanges: plans at a time, and how often.
_MEASURED = 30
_ROUNDS = 4
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Costs:
    """What 16 bits cost beyond the model as it is.

    Args:
        units: [units], of each alone.
        pairs: [pairs, 2], positions of two units.
        savings: [pairs], what two cost less together than alone: nothing is rescaled between them.
    """

    units: Array
    pairs: npt.NDArray[np.int64]
    savings: Array

    def of(self, plans: Chosen) -> Array:
        """[plans], of boolean rows [plans, units]; none below the dearest unit of a plan, as savings are estimates."""
        both = plans[:, self.pairs[:, 0]] & plans[:, self.pairs[:, 1]]
        dearest = (plans * self.units).max(1, initial=0.0)
        return np.maximum(plans @ self.units - both @ self.savings, dearest)


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
        outputs: those that count; None: all.
    """

    def __init__(self, noise: Noise, costs: Costs, outputs: Sequence[int] | None = None) -> None:
        self.outputs = list(range(len(noise.products)) if outputs is None else outputs)
        self.products = noise.products[self.outputs]
        self.needs, self.costs = noise.needs, costs
        self.count = noise.needs.shape[1]
        self.groups = _groups(noise.needs)

    def errors(self, plans: Chosen) -> Array:
        """[plans], relative noise: a norm over the outputs, close to that of the worst; the others count a little."""
        narrow = (~plans).astype(float) @ self.needs.T.astype(float) > 0
        made = np.concatenate([np.ones((len(plans), 1)), narrow], 1)
        noise = np.stack([((made @ each) * made).sum(1) for each in self.products], 1).clip(0)
        return _joined(noise)

    def plan(self, chosen: Chosen) -> Plan:
        """The plan of one boolean row."""
        row = chosen[None]
        units = tuple(int(i) for i in np.flatnonzero(chosen))
        return Plan(units, float(self.errors(row)[0]), float(self.costs.of(row)[0]))

    def front(self) -> list[Plan]:
        """Plans by cost, each with less error than those before; the first has no unit."""
        return _front(map(self.plan, itertools.chain(self._growing(), self._shrinking())))

    def single(self, limit: float) -> list[Plan]:
        """Plans of one group within a limit, the least error first."""
        plans = map(self.plan, self.groups[self.costs.of(self.groups) <= limit])
        return sorted(plans, key=lambda plan: (plan.error, plan.cost))

    def within(self, limit: float) -> Plan:
        """The plan with the least error that costs no more than a limit.

        It starts from the plans of the front next to the limit, those beyond it trimmed, and exchanges groups while
        that helps.
        """
        front = self.front()
        inside = [self._row(plan.units) for plan in front if plan.cost <= limit]
        beyond = [self._row(plan.units) for plan in front if plan.cost > limit]
        starts = [*inside[:1], *inside[-_STARTS:], *(self._trimmed(row, limit) for row in beyond[:_STARTS])]
        ends = (self.plan(self._exchanged(row, limit)) for row in starts)
        return min(ends, key=lambda plan: (plan.error, plan.cost))

    def refined(self, plan: Plan, limit: float, noise: Callable[[Sequence[int]], Array]) -> Plan:
        """A plan within a limit, with groups exchanged while the measured error falls.

        Args:
            noise: measures a plan: [outputs], relative.
        """

        def error(row: Chosen) -> float:
            measured = noise([int(i) for i in np.flatnonzero(row)])
            return float(_joined(measured[self.outputs][None])[0])

        now = self._row(plan.units)
        least = error(now)
        for _ in range(_ROUNDS):
            rows = self._near(now, limit)
            errors = [error(row) for row in rows]
            if not errors or min(errors) >= least * (1 - 1e-9):
                break
            least = min(errors)
            now = rows[errors.index(least)]
        return self.plan(now)

    def _near(self, now: Chosen, limit: float) -> list[Chosen]:
        """The plans an exchange away that are expected to be best."""
        rows = np.unique(np.concatenate([*self._exchanges(now, limit), now[None][:0]]), axis=0)
        return list(rows[np.argsort(self.errors(rows), kind="stable")[:_MEASURED]])

    def _row(self, units: Sequence[int]) -> Chosen:
        row = np.zeros(self.count, bool)
        row[list(units)] = True
        return row

    def _trimmed(self, now: Chosen, limit: float) -> Chosen:
        while now.any() and self.costs.of(now[None])[0] > limit:
            now = self._shrunk(now)
        return now

    def _exchanged(self, now: Chosen, limit: float) -> Chosen:
        while (better := self._better(now, limit)) is not None:
            now = better
        return now

    def ladder(self, limits: int) -> list[Plan]:
        """The front with more plans at some limits between: by cost, each with less error than those before."""
        front = self.front()
        marks = np.linspace(0, front[-1].cost, limits + 2)[1:-1]
        return _front([*front, *(self.within(float(limit)) for limit in marks)])

    def _growing(self) -> list[Chosen]:
        now = np.zeros(self.count, bool)
        path = [now]
        while (grown := self._grown(now)) is not None:
            now = grown
            path.append(now)
        return path

    def _grown(self, now: Chosen) -> Chosen | None:
        """With the group that gains most per cost, if one gains."""
        plans = _new(now, self.groups)
        if not len(plans):
            return None
        costs = self.costs.of(plans)
        gains = np.log(self.errors(now[None])[0] + _SMALLEST) - np.log(self.errors(plans) + _SMALLEST)
        paid = np.maximum(costs - self.costs.of(now[None])[0], _SMALLEST)
        best = int(np.argmax(gains / paid))
        found: Chosen = plans[best]
        return found if gains[best] > 0 else None

    def _shrinking(self) -> list[Chosen]:
        now = np.ones(self.count, bool)
        path = [now]
        while now.any():
            now = self._shrunk(now)
            path.append(now)
        return path

    def _shrunk(self, now: Chosen) -> Chosen:
        """Without the unit that is missed least per cost."""
        plans = np.repeat(now[None], now.sum(), 0)
        plans[np.arange(len(plans)), np.flatnonzero(now)] = False
        lost = np.log(self.errors(plans) + _SMALLEST) - np.log(self.errors(now[None])[0] + _SMALLEST)
        saved = np.maximum(self.costs.of(now[None])[0] - self.costs.of(plans), _SMALLEST)
        found: Chosen = plans[int(np.argmin(lost / saved))]
        return found

    def _better(self, now: Chosen, limit: float) -> Chosen | None:
        """The exchange with the least error within the limit, if one is less."""
        best, least = None, float(self.errors(now[None])[0]) * (1 - 1e-9)
        for plans in self._exchanges(now, limit):
            errors = self.errors(plans)
            i = int(np.argmin(errors))
            if errors[i] < least:
                best, least = plans[i], float(errors[i])
        return best

    def _exchanges(self, now: Chosen, limit: float) -> Iterator[Chosen]:
        """Plans with a group more, or with one in place of one unit or of two, within the limit."""
        gone = itertools.chain.from_iterable(itertools.combinations(np.flatnonzero(now), n) for n in range(3))
        for base in itertools.islice((_without(now, units) for units in gone), 1 + _LOOKED_AT // len(self.groups)):
            plans = _new(base, self.groups)
            plans = plans[self.costs.of(plans) <= limit]
            if len(plans):
                yield plans


def _joined(noise: Array) -> Array:
    """[plans], of [plans, outputs]."""
    worst = (noise**_NORM).sum(1) ** (1 / _NORM)
    return np.asarray(worst * np.exp(_OTHERS * np.log(noise + _SMALLEST).mean(1)))


def _front(plans: Iterable[Plan]) -> list[Plan]:
    front: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.cost, plan.error, plan.units)):
        if not front or plan.error < front[-1].error:
            front.append(plan)
    return front


def _without(now: Chosen, units: Sequence[int]) -> Chosen:
    made = now.copy()
    made[list(units)] = False
    return made


def _new(now: Chosen, groups: Chosen) -> Chosen:
    """The plan with each group; those that add nothing are left out."""
    plans: Chosen = groups | now
    new: Chosen = plans[(plans != now).any(1)]
    return new


def _groups(needs: npt.NDArray[np.bool_]) -> Chosen:
    """Units that gain together: of each rounding, of two that share a unit, and each unit with all its neighbours."""
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
