"""Limits of the device and the task, the distance of a result from them, and the best of many results."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..support.errors import UsageError
from ..support.memory_size import kib, size_of
from .point import Evaluation, Failure, Result

#: A part of a limit that arithmetic loses: 1 - 0.99 is more than 0.01.
_ROUNDING = 1e-9
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_DROP = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")
_SQNR = re.compile(r"(\d+(?:\.\d+)?)\s*(?:dB)?", re.IGNORECASE)


@dataclass(frozen=True)
class Drop:
    """The loss of a metric that is allowed: in its own units, or as a part of the float model's."""

    number: float
    relative: bool

    def of(self, float_metric: float) -> float:
        """In the metric's own units."""
        return self.number * abs(float_metric) if self.relative else self.number

    def __str__(self) -> str:
        return f"{100 * self.number:g}%" if self.relative else f"{self.number:g}"


@dataclass(frozen=True)
class Miss:
    """The distance of a figure from its limit.

    Args:
        limit: its name, as on the command line.
        part: by how much it is missed, as a part of the limit, or less than zero; infinite if the figure is unknown.
        text: the figure and the limit.
    """

    limit: str
    part: float
    text: str


@dataclass(frozen=True)
class Limits:
    """Upper or lower bounds of a point's figures. None: no bound.

    Args:
        sram: bytes of on-chip memory.
        flash: bytes of the ``.pte``, weights included.
        latency: seconds of an inference, of the delegates alone, as estimated.
        drop: loss of the metric against the float model's.
        sqnr: dB at least.
        dram: bytes of DRAM in use.
    """

    sram: int | None = None
    flash: int | None = None
    latency: float | None = None
    drop: Drop | None = None
    sqnr: float | None = None
    dram: int | None = None

    def __bool__(self) -> bool:
        return self != Limits()

    def missed(self, evaluation: Evaluation) -> list[Miss]:
        """The limits that are missed. An unknown figure misses its limit."""
        return [miss for miss in self.judged(evaluation) if miss.part > _ROUNDING]

    def judged(self, evaluation: Evaluation) -> Iterator[Miss]:
        """Every limit, with ``part`` zero or less where it is kept."""
        accuracy = evaluation.accuracy
        if self.sram is not None:
            yield _over("sram", evaluation.figures.sram_bytes, self.sram, kib)
        if self.dram is not None:
            yield _over("dram", evaluation.figures.dram_bytes, self.dram, kib)
        if self.flash is not None:
            yield _over("flash", evaluation.figures.file_bytes, self.flash, kib)
        if self.latency is not None:
            yield _over("latency", evaluation.latency, self.latency, _time)
        if self.drop is not None:
            lost = None if accuracy is None else accuracy.drop
            most = self.drop.of(accuracy.float_metric) if accuracy and accuracy.float_metric is not None else 0.0
            yield _over("drop", lost, most, lambda number: f"{number:.4g}")
        if self.sqnr is not None:
            sqnr = accuracy.sqnr_db if accuracy else None
            part = math.inf if sqnr is None else (self.sqnr - sqnr) / max(self.sqnr, 1.0)
            reached = "not known" if sqnr is None else f"{sqnr:.1f} dB"
            yield Miss("sqnr", part, f"{reached} instead of {self.sqnr:g} dB")


def _over(limit: str, value: float | None, most: float, text: Callable[[float], str]) -> Miss:
    if value is None:
        return Miss(limit, math.inf, f"not known, {text(most)} allowed")
    part = (value - most) / most if most else math.inf if value > 0 else 0.0
    return Miss(limit, part, f"{text(value)} instead of {text(most)}")


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.4g} us" if seconds < 1e-4 else f"{seconds * 1e3:,.2f} ms"


def parse_limits(
    sram: str | None = None,
    flash: str | None = None,
    latency: str | None = None,
    drop: str | None = None,
    sqnr: str | None = None,
    dram: str | None = None,
) -> Limits:
    """Limits as users write them: ``512K``, ``2M``, ``30ms``, ``1%``, ``25dB``.

    Raises:
        UsageError: one is not of its form.
    """
    return Limits(
        None if sram is None else size_of(sram, "--sram"),
        None if flash is None else size_of(flash, "--flash"),
        None if latency is None else _seconds(latency),
        None if drop is None else _drop(drop),
        None if sqnr is None else float(_match(_SQNR, sqnr, "--sqnr", "25dB")[1]),
        None if dram is None else size_of(dram, "--dram"),
    )


def _seconds(text: str) -> float:
    match = _match(_TIME, text, "--latency", "30ms, 500us or 0.1s")
    return float(match[1]) * _SECONDS[match[2]]


def _drop(text: str) -> Drop:
    match = _match(_DROP, text, "--drop", "1% (of the float model's metric) or 0.01 (in its units)")
    return Drop(float(match[1]) / 100, True) if match[2] else Drop(float(match[1]), False)


def _match(form: re.Pattern[str], text: str, option: str, example: str) -> re.Match[str]:
    match = form.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option} {text!r}: write {example}")
    return match


def costs(evaluation: Evaluation) -> tuple[float, ...]:
    """SRAM, bytes of the ``.pte``, latency, DRAM, and accuracy below zero: the less the better; infinite if unknown."""
    accuracy = evaluation.accuracy.value if evaluation.accuracy else None
    return (
        math.inf if evaluation.figures.sram_bytes is None else evaluation.figures.sram_bytes,
        evaluation.figures.file_bytes,
        math.inf if evaluation.latency is None else evaluation.latency,
        math.inf if evaluation.figures.dram_bytes is None else evaluation.figures.dram_bytes,
        math.inf if accuracy is None else -accuracy,
    )


@dataclass(frozen=True)
class Answer:
    """The best of many results.

    Args:
        front: results that no other one equals or beats in all respects (target, SRAM, ``.pte``, latency, DRAM,
            accuracy); cheapest first.
        chosen: the cheapest within the limits; None if there is none, or no limit.
        nearest: if nothing is within the limits, the result whose largest miss, as a part of its limit, is the
            smallest; None if no result has figures.
        missed: limits that ``nearest`` misses.
        failures: points without figures, grouped by reason (numbers in it do not count); the largest group first.
    """

    front: Sequence[Result]
    chosen: Result | None = None
    nearest: Result | None = None
    missed: Sequence[Miss] = ()
    failures: Sequence[Sequence[Result]] = ()


def answer(results: Sequence[Result], targets: Sequence[str], limits: Limits) -> Answer:
    """The best of all results.

    Args:
        targets: cheapest first.
    """
    evaluated = [(r, r.outcome) for r in results if isinstance(r.outcome, Evaluation)]
    failures = _grouped(results)

    def price(row: tuple[Result, Evaluation]) -> tuple[float, ...]:
        return targets.index(row[0].point.target), *costs(row[1])

    evaluated.sort(key=price)
    front = _front([(price(row), row[0]) for row in evaluated])
    if not limits:
        return Answer(front, failures=failures)
    judged = [(result, limits.missed(evaluation)) for result, evaluation in evaluated]
    chosen = next((result for result, missed in judged if not missed), None)
    if chosen is not None or not judged:
        return Answer(front, chosen, failures=failures)
    nearest, missed = min(judged, key=lambda row: sorted((miss.part for miss in row[1]), reverse=True))
    return Answer(front, None, nearest, missed, failures)


def _grouped(results: Sequence[Result]) -> list[list[Result]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        if isinstance(result.outcome, Failure):
            groups.setdefault(re.sub(r"\d[\d.,]*", "#", result.outcome.reason), []).append(result)
    return sorted(groups.values(), key=len, reverse=True)


def _front(rows: Sequence[tuple[tuple[float, ...], Result]]) -> list[Result]:
    """The rows, sorted by cost, that no other row equals or beats in all figures; the first of equal ones."""
    front: list[tuple[tuple[float, ...], Result]] = []
    for cost, result in rows:  # a later row is worse in the first figure that differs, so it covers no earlier one
        if not any(all(a <= b for a, b in zip(earlier, cost, strict=True)) for earlier, _ in front):
            front.append((cost, result))
    return [result for _, result in front]
