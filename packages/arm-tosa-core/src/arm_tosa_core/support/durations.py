"""Durations as text."""

from __future__ import annotations


def milliseconds(seconds: float) -> str:
    """Seconds as text, in ms to three decimals; what is less than a hundredth of one, to two digits."""
    ms = seconds * 1e3
    return f"{ms:,.3f} ms" if ms >= 0.01 or not ms else f"{ms:.2g} ms"
