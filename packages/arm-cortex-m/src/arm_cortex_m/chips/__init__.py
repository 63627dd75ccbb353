"""Chips whose models are computed in C on a Cortex-M, behind the ``arm_tosa.chips`` entry point: a file each."""

from __future__ import annotations

from pathlib import Path

from arm_tosa_core.plugin.chip import Chip, read_chips


def chips() -> list[Chip]:
    """All of them."""
    return read_chips(Path(__file__).parent)
