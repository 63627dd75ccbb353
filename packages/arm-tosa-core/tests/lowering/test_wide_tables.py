"""Tables in several ranges, of a function of INT32: nearly as exact at the smallest integers as at the largest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from arm_tosa_core.lowering.builder.wide_tables import Range, ranges

LOW, HIGH = -32768, 32767

#: In quanta, of 0 to 1.
FUNCTIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "sqrt": lambda x: 32767 * np.sqrt(np.maximum(x, 0)),
    "saturating sqrt": lambda x: 1.7 * 32767 * np.sqrt(np.maximum(x, 0)),
    "rsqrt": lambda x: 80 / np.sqrt(np.maximum(x, 0) + 1e-6),
    "reciprocal": lambda x: 1 / (np.maximum(x, 0) + 1e-5),
    "log": lambda x: 2000 * np.log(np.maximum(x, 0) + 1e-7),
    "flat": lambda x: 20000 / np.sqrt(np.maximum(x, 0) + 1),
}


def evaluated(made: list[Range], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the tables as TOSA computes it, before it is rounded."""
    total = np.zeros(len(x))
    for part in made:
        operand = np.clip(np.rint(x / part.step), LOW, HIGH).astype(int)
        place, beyond = (operand + 32768) >> 7, operand & 127
        entries = part.entries.astype(int)
        total += (entries[place] * 128 + (entries[place + 1] - entries[place]) * beyond) / 128
    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_near_at_integers_of_any_size(name: str) -> None:
    function, top = FUNCTIONS[name], 2**29
    made = ranges(lambda x: function(x / top), top, (LOW, HIGH))
    assert made is not None
    assert len(made) <= 6
    assert all(np.abs(np.diff(part.entries.astype(int))).max() <= HIGH for part in made)
    x = np.concatenate([np.arange(-10, 300), np.rint(np.exp(np.linspace(0, np.log(top), 20000)))])
    exact = np.clip(function(x / top), LOW, HIGH)
    step = np.abs(np.clip(function((x + 1) / top), LOW, HIGH) - exact)
    assert (np.abs(np.clip(evaluated(made, x), LOW, HIGH) - exact) - step).max() < 3


def test_a_function_that_bends_everywhere_has_none() -> None:
    assert ranges(lambda x: 30000 * np.sin(x / 1e4), 2**29, (LOW, HIGH)) is None
