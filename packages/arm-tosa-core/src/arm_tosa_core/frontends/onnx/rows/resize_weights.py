"""How much each element of an axis counts for each of the resized axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor

import numpy as np
import torch
from torch import Tensor


def linear(distance: float) -> float:
    return max(0.0, 1.0 - abs(distance))


def cubic(a: float) -> Callable[[float], float]:
    """The cubic convolution of Keys with this slope at 1."""

    def weight(distance: float) -> float:
        x = abs(distance)
        if x < 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0

    return weight


def weights(
    places: Sequence[float], size: int, kernel: Callable[[float], float], reach: int, stretch: float, *, inside: bool
) -> Tensor:
    """A matrix with a row for each element that is made.

    Args:
        places: where these lie among the elements that there are.
        size: how many there are. Beyond the ends the last one repeats.
        kernel: the weight of an element by its distance, which is 0 from ``reach`` on.
        stretch: by which the kernel is wider, as antialiasing makes it.
        inside: elements beyond the ends do not count at all.
    """
    made = np.zeros((len(places), size))
    for row, place in enumerate(places):
        for element in range(floor(place - reach * stretch), floor(place + reach * stretch) + 2):
            if 0 <= element < size or not inside:
                made[row, min(max(element, 0), size - 1)] += kernel((element - place) / stretch)
    return torch.from_numpy(made / made.sum(1, keepdims=True)).to(torch.float32)
