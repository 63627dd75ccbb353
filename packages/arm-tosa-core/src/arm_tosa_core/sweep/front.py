"""The best of many results: the Pareto front, the cheapest within limits, or the nearest to them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .limits import Limits, Miss
from .point import Evaluation, Failure, Result


def costs(evaluation: Evaluation) -> tuple[float, ...]:
    """SRAM, bytes of the ``.pte``, latency, and accuracy below zero: the less the better; infinite where not known."""
    accuracy = evaluation.accuracy.value if evaluation.accuracy else None
    return (
        math.inf if evaluation.figures.sram_bytes is None else evaluation.figures.sram_bytes,
        evaluation.figures.file_bytes,
        math.inf if evaluation.latency is None else evaluation.latency,
        math.inf if accuracy is None else -accuracy,
    )


@dataclass(frozen=True)
class Answer:
    """The best of many results.

    Args:
        front: results that no other one equals or beats in all respects (target, SRAM, ``.pte``, latency, accuracy);
            cheapest first.
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
