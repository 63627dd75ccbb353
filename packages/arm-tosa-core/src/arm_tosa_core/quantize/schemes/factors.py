"""How far the factors of a norm have to reach."""

from __future__ import annotations

import math
from collections import Counter

import torch

#: Factors are counted in parts of an octave.
_PARTS = 32
_BYTE = 255  # steps of 8 bits


class Factors:
    """The magnitudes of the factors of a norm that were seen.

    What is small has a large factor: a silent part of a sound, an empty patch of a picture. Integers of the tensor that
    is normed, or of its energies, cannot tell it from 0, so that no factor makes it right; but a range that reaches
    there takes all others their steps.

    Args:
        steps: of the factors' integers, and of those of the tensor that is normed. Its energies have as many where
            these are 8 bits, and 32 bits where they are 16.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._known = math.sqrt(steps) if steps <= _BYTE else steps / 4
        self._counts: Counter[int] = Counter()

    def add(self, factors: torch.Tensor) -> None:
        """Counts what was seen."""
        found = factors.detach().abs().flatten()
        parts = (found[found > 0].double().log2() * _PARTS).floor()
        self._counts.update(map(int, parts.tolist()))

    def reach(self) -> float:
        """The largest factor to represent: the one of least mean square of relative errors.

        A factor beyond is as wrong as it is farther. One that is too small for the steps is lost.
        """
        if not self._counts:
            return torch.inf
        parts = torch.tensor(sorted(self._counts), dtype=torch.float64)
        counts = torch.tensor([self._counts[int(part)] for part in parts], dtype=torch.float64)
        sizes = torch.exp2((parts + 0.5) / _PARTS)
        known = sizes <= sizes[0] * self._known
        counts, sizes = counts[known], sizes[known]
        ends = torch.exp2((parts[known] + 1) / _PARTS)[:, None]  # of ranges that are tried
        rounded = ((ends / self._steps / sizes) ** 2 / 12).clamp(max=1)
        lost = torch.where(sizes > ends, (1 - ends / sizes) ** 2, rounded) * counts
        return float(ends[lost.sum(1).argmin()])
