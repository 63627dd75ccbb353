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


def accepts(before: torch.Tensor, after: torch.Tensor, part: float = 1.0) -> torch.Tensor:
    """Whether each change gains: by more than the standard error, of which one observation alone has none.

    Args:
        before, after: errors without it and with it, [observations, ...].
        part: of the error without a change, below which the error with it must be: what the change costs.

    Returns:
        [...], bool.
    """
    gains = part * before.double() - after.double()
    return gains.mean(0) > _standard_error(gains)


def evidence(before: torch.Tensor, after: torch.Tensor) -> Evidence:
    """That of errors without a change and with it, [observations]."""
    before, after = before.double(), after.double()
    error = float(_standard_error(before - after)) if len(before) > 1 else None
    return Evidence(float(before.mean()), float(after.mean()), error, len(before))


def _standard_error(observations: torch.Tensor) -> torch.Tensor:
    """Of the mean of observations, [observations, ...]; 0 for one alone."""
    if len(observations) == 1:
        return torch.zeros_like(observations[0])
    return observations.std(0) / math.sqrt(len(observations))
