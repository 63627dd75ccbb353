"""The order of points: all of them by turns, or the sampler's proposals."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from typing import Protocol

from .journal import Journal, Trial
from .point import Group, Point
from .space import Space


class Order(Protocol):
    """Chooses the next point.

    Args:
        total: how many there will be.
    """

    total: int

    def next(self, running: Counter[Group]) -> Point | Trial | None:
        """The next point, with its trial if it has one; None at the end.

        Args:
            running: how many points of each group are being worked on.
        """


class All:
    """Every point; workers run points of different quantized programs, so that no two quantize the same one."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._waiting: dict[Group, deque[Point]] = {}
        for point in points:
            self._waiting.setdefault(point.group, deque()).append(point)
        self.total = sum(map(len, self._waiting.values()))

    def next(self, running: Counter[Group]) -> Point | None:
        """The first point of the group that is worked on least."""
        if not self._waiting:
            return None
        group = min(self._waiting, key=running.__getitem__)
        point = self._waiting[group].popleft()
        if not self._waiting[group]:
            del self._waiting[group]
        return point


class Proposed:
    """The sampler's proposals up to a count; any other point replaces a proposal that was tried already."""

    def __init__(self, space: Space, journal: Journal, count: int) -> None:
        self._journal, self.total, self._remaining = journal, count, count
        self._seen: set[Point] = set()
        self._space = space
        self._random = random.Random(0)

    def next(self, running: Counter[Group]) -> Point | Trial | None:
        """The next proposal."""
        if self._remaining == 0:
            return None
        self._remaining -= 1
        trial = self._journal.propose()
        if trial.point not in self._seen:
            self._seen.add(trial.point)
            return trial
        self._journal.drop(trial)
        point = next(point for point in iter(self._any, None) if point not in self._seen)
        self._seen.add(point)
        return point

    def _any(self) -> Point:
        return self._space.any(self._random)
