"""How far outputs are apart: equal, rounded otherwise, or others."""

from __future__ import annotations

import numpy as np
import pytest

from arm_tosa_core.cli.original_file import _noise

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("wanted", "result", "agrees", "text"),
    [
        ([1.0, NAN, INF], [1.0, NAN, INF], True, "output 2 is equal"),
        ([100.0, 50.0], [100.0, 50.1], True, "differs by at most 0.1, SQNR 61.0 dB"),
        ([100.0, 50.0], [100.0, 51.0], False, "differs by at most 1, SQNR 41.0 dB"),
        ([1.0, 2.0], [1.0, NAN], False, "differs by at most inf"),
        ([1.0, 2.0], [1.0, INF], False, "differs by at most inf"),
        ([1.0, 2.0], [1.0], False, "differs by at most inf"),
    ],
)
def test_noise(wanted: list[float], result: list[float], agrees: bool, text: str) -> None:
    noise = _noise(2, np.array(wanted), np.array(result), 60.0)
    assert noise.agrees == agrees and text in str(noise)
