"""The newest figure of each case among measurements, and comparisons of two sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from benchmarks.results import Measurement

Case = Mapping[str, str]


@dataclass(frozen=True)
class Figure:
    """A figure, and when and at which commit of this repository it was measured."""

    value: float
    date: str
    commit: str

    @property
    def day(self) -> str:
        return self.date[:10]


@dataclass(frozen=True)
class Pair:
    """The same figure of this project and of another implementation; None: not measured."""

    ours: Figure | None
    other: Figure | None

    @property
    def ratio(self) -> float | None:
        """Ours to the other's, where both are there and the other's is not 0."""
        if self.ours is None or self.other is None or not self.other.value:
            return None
        return self.ours.value / self.other.value

    @property
    def same_day(self) -> bool:
        """Whether both were measured on one day; seconds of different days are of different loads of the machine."""
        return self.ours is None or self.other is None or self.ours.day == self.other.day


class Figures:
    """Measurements by benchmark, case and side."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self._by_case: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
        self._cases: dict[str, dict[tuple[tuple[str, str], ...], Case]] = defaultdict(dict)
        for measurement in measurements:
            key = _key(measurement.case)
            self._by_case[measurement.benchmark, key, measurement.side].append(measurement)
            self._cases[measurement.benchmark].setdefault(key, measurement.case)

    def cases(self, benchmark: str) -> list[Case]:
        """The cases of a benchmark, in the order in which they were measured first."""
        return list(self._cases[benchmark].values())

    def days(self) -> str:
        """The first and the last day of the measurements, in words."""
        days = sorted({m.date[:10] for rows in self._by_case.values() for m in rows})
        return "never" if not days else f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"

    def figure(self, benchmark: str, case: Case, side: str, metric: str) -> Figure | None:
        """The median of the newest run that has the metric."""
        having = [m for m in self._by_case[benchmark, _key(case), side] if metric in m.metrics]
        if not having:
            return None
        newest = max(m.date for m in having)
        run = [m for m in having if m.date == newest]
        return Figure(median(m.metrics[metric] for m in run), newest, run[-1].commit)

    def newest(self, benchmark: str, case: Case, side: str, metric: str) -> Measurement | None:
        """The newest measurement that has the metric."""
        having = [m for m in self._by_case[benchmark, _key(case), side] if metric in m.metrics]
        return max(having, key=lambda m: m.date, default=None)

    def pair(self, benchmark: str, case: Case, metric: str, other: str = "rival") -> Pair:
        """A figure of ours and of another side."""
        return Pair(*(self.figure(benchmark, case, side, metric) for side in ("ours", other)))

    def error(self, benchmark: str, case: Case, side: str) -> str:
        """How the newest measurement failed; empty if it did not, or if there is none."""
        newest = max(self._by_case[benchmark, _key(case), side], key=lambda m: m.date, default=None)
        return str(newest.metrics.get("error", "")) if newest else ""

    def machine(self, benchmark: str, case: Case, side: str) -> str:
        """Where the newest measurement was made."""
        return max(self._by_case[benchmark, _key(case), side], key=lambda m: m.date).machine


def _key(case: Case) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(case.items()))


def mean_ratio(pairs: Sequence[Pair]) -> str:
    """The geometric mean of ours to the other's, with the least and the largest."""
    ratios = [pair.ratio for pair in pairs if pair.ratio]
    return f"{geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "–"


def shown(figure: Figure | None, decimals: int, divisor: float = 1.0) -> str:
    """A figure as text; a dash where it was not measured."""
    return "–" if figure is None else f"{figure.value / divisor:.{decimals}f}"
