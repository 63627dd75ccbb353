"""The one judge of changes: an error must fall far enough, and by more than chance, on data they were not made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Evidence:
    """The errors that speak for a change; their unit is that of the correction.

    Args:
        before: the mean error without the change.
        after: that with it.
        error: the standard error of their difference; None where one observation is all.
        observations: how many there were.
    """

    before: float
    after: float
    error: float | None = None
    observations: int = 1


@dataclass(frozen=True)
class Judge:
    """Accepts changes.

    Args:
        part: of the error without a change, below which the error with it must be.
        sure: standard errors by which the gain must exceed 0; with 0 one observation is enough.
    """

    part: float = 1.0
    sure: float = 0.0

    def accepts(self, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        """Whether each change gains.

        Args:
            before, after: errors without it and with it, [observations, ...].

        Returns:
            [...], bool.
        """
        mean, square = estimate(self.part * before.double() - after.double())
        return mean > (self.sure * square.sqrt() if self.sure else 0.0)


def estimate(observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean of observations, [observations, ...], and the square of its standard error; infinite for one alone."""
    count, mean = len(observations), observations.mean(0)
    if count == 1:
        return mean, torch.full_like(mean, math.inf)
    return mean, ((observations - mean) ** 2).sum(0) / (count - 1) / count


def evidence(before: torch.Tensor, after: torch.Tensor) -> Evidence:
    """That of errors without a change and with it, [observations]."""
    _, square = estimate(before.double() - after.double())
    error = math.sqrt(float(square)) if len(before) > 1 else None
    return Evidence(float(before.mean()), float(after.mean()), error, len(before))
