"""Whether a quantized model keeps enough of the float model's figure, and how sure that is on so many samples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from ..support.errors import UsageError
from .compare import Comparison
from .task_metric import Metric

#: From here on the samples are said to be enough.
CONFIDENT = 0.95
#: Parts of the samples that are left out one after the other, where a function gives one number for all of them.
_PARTS = 20


@dataclass(frozen=True)
class Verdict:
    """What the samples that judge say.

    Args:
        value: of the quantized model: the metric, or without one the part of the outputs' power that is no error, 0.99
            at an SQNR of 20 dB.
        float_value: that of the float model; 1 without a metric.
        least: what must be kept.
        samples: how many there are.
        confidence: that other samples of the same kind would keep it too, from 0 to 1; None
            if these say nothing of it.
    """

    value: float
    float_value: float
    least: float
    samples: int
    confidence: float | None

    @property
    def is_kept(self) -> bool:
        """By these samples."""
        return self.value >= self.least

    @property
    def is_sure(self) -> bool:
        """Whether the samples are enough to say so."""
        sure = self.confidence if self.is_kept else None if self.confidence is None else 1 - self.confidence
        return sure is not None and sure >= CONFIDENT

    def __str__(self) -> str:
        word = "kept" if self.is_kept else "not kept"
        if self.confidence is None:
            return f"{word} by these samples; too few or too alike to say more"
        share = self.confidence if self.is_kept else 1 - self.confidence
        if self.is_sure:
            return f"{word}, with {_percent(share)} confidence"
        return f"{word} by these samples, {_percent(share)} confidence: not enough samples to say"


def least_of(float_value: float, keep: float) -> float:
    """What must be kept of the float model's figure: of an error, which is negative, no more than 1 / keep times it.

    Raises:
        UsageError: the figure is 0, of which no part is less.
    """
    if float_value == 0:
        raise UsageError(
            "the metric of the float model is 0, of which nothing can be kept: return a figure that is not 0"
        )
    return float_value * keep if float_value > 0 else float_value / keep


def judged(comparison: Comparison, metric: Metric | None, keep: float) -> Verdict:
    """The verdict on a comparison that was made with this metric.

    Raises:
        UsageError: without a metric: the model gives no real numbers.
    """
    count = comparison.samples
    if metric is None:
        if comparison.sqnr_db is None:
            raise UsageError("the model gives integers only, which have no SQNR: judge them with --metric")
        lost = 10 ** (-comparison.sqnr_db / 10)
        gains = [1 - keep - count * error for error in comparison.errors]
        return Verdict(1 - lost, 1.0, keep, count, _confidence(gains, _beyond(gains)))
    calls = comparison.calls
    assert calls is not None
    noisy, exact = calls.numbers(metric), calls.exactly().numbers(metric)
    value, wanted = fmean(noisy), fmean(exact)
    least = least_of(wanted, keep)
    share = least / wanted
    if len(noisy) == 1 and count > 1:
        pieces = min(_PARTS, count)
        order = random.Random(0).sample(range(count), count)  # neighbours may be alike: of one class, or one recording
        rest = [calls.without(order[i::pieces]) for i in range(pieces)]
        try:
            margins = [fmean(each.numbers(metric)) - share * fmean(each.exactly().numbers(metric)) for each in rest]
        except Exception:  # a function may need more samples than a part of them has, such as some of each class
            return Verdict(value, wanted, least, count, None)
        return Verdict(value, wanted, least, count, _of_the_rest(value - least, margins))
    gains = [a - share * b for a, b in zip(noisy, exact, strict=True)]
    # That none of a few was lost says little of the next.
    decisions = {*noisy, *exact} <= {0.0, 1.0}
    return Verdict(value, wanted, least, count, _confidence(gains, -share if decisions else _beyond(gains)))


def _confidence(gains: Sequence[float], one_more: float) -> float | None:
    """That the mean is above 0, by Student's t, with one sample more that is worse than those that are known.

    None: they are too few or too alike.
    """
    if len(gains) < 2:
        return None
    taken = [*gains, one_more]
    error = stdev(taken) / math.sqrt(len(taken))
    return None if not error else _student(fmean(taken) / error, len(gains) - 1)


def _beyond(gains: Sequence[float]) -> float:
    """Twice as far from the mean as the worst: of a few samples the tail is longer than they show."""
    return 2 * min(gains) - fmean(gains)


def _student(t: float, freedom: int) -> float:
    """Student's distribution, within 0.01: Wallace, 1959 ("Bounds on normal approximations to Student's")."""
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return NormalDist().cdf(math.copysign(z, t))


def _of_the_rest(margin: float, margins: Sequence[float]) -> float | None:
    """By the jackknife: what each part of the samples adds to the figure. The worst part counts twice, as above."""
    parts = len(margins)
    gains = [parts * margin - (parts - 1) * rest for rest in margins]
    return _confidence(gains, min(gains))


def _percent(share: float) -> str:
    return "over 99.9 %" if share > 0.999 else f"{math.floor(1000 * share) / 10:g} %"
