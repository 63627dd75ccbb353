"""Sizes and durations as users read them: small ones are not 0."""

from __future__ import annotations

import pytest

from arm_tosa_core.support.durations import milliseconds
from arm_tosa_core.support.memory_size import kib


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.000 ms"), (4.3e-8, "4.3e-05 ms"), (9.9e-6, "0.0099 ms"), (1e-5, "0.010 ms"), (1.25, "1,250.000 ms")],
)
def test_durations(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(0, "0.0 KiB"), (1, "1 B"), (1023, "1,023 B"), (1536, "1.5 KiB")])
def test_sizes(size: int, text: str) -> None:
    assert kib(size) == text
