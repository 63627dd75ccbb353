"""Chips with an Ethos-U, behind the ``arm_tosa.chips`` entry point: a file each, and Vela's configurations of all."""

from __future__ import annotations

from pathlib import Path

from arm_tosa_core.plugin.chip import Chip, read_chips


def chips() -> list[Chip]:
    """All of them."""
    return read_chips(Path(__file__).parent)
