"""Rewrites for Ethos-U: constructs that Vela takes, but slowly or to something else than what TOSA says.

``catalogue`` lists them with what each is for; ``docs/reference/vela-differences.md`` says what Vela computes instead.
"""

from __future__ import annotations

from arm_tosa_core.tosa.rewrite import Rewrite

from ..accelerators import family_of
from .catalogue import ROWS


def rewrites_for(accelerator: str) -> tuple[Rewrite, ...]:
    """The rewrites for an accelerator: what Vela gets wrong differs between families, and with their on-chip memory.

    Raises:
        UsageError: there is no such accelerator.
    """
    family = family_of(accelerator)
    return tuple(row.on_accelerator(accelerator) for row in ROWS if family in row.on)
