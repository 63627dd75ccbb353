"""Rewrites for Ethos-U: constructs that Vela takes, but slowly or to something else than what TOSA says.

``catalogue`` lists them with what each is for; ``docs/reference/vela-differences.md`` says what Vela computes instead.
"""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice, Estimator
from arm_tosa_core.tosa.rewrite import Rewrite
from arm_tosa_core.tosa.specification import TosaSpecification

from ..accelerators import DEFAULTS, family_of
from ..constraints import checks_for
from ..estimate_cache import Estimate
from .catalogue import ROWS
from .graph_parts import VELA


def rewrites_for(accelerator: str, estimate: Estimate | None = None) -> tuple[Rewrite, ...]:
    """The rewrites for an accelerator: what Vela gets wrong differs between families, and with their on-chip memory.

    Args:
        estimate: what chooses among those that may be slower; without, none of them is made.

    Raises:
        UsageError: there is no such accelerator.
    """
    family = family_of(accelerator)
    rows = [row for row in ROWS if family in row.on]
    others = [row.on_accelerator(accelerator) for row in rows if not isinstance(row.rewrite, Choice)]
    if estimate is None:
        return tuple(others)
    spec = TosaSpecification.create_from_string(DEFAULTS[family].tosa_spec)
    estimator = Estimator(estimate, spec, checks_for(family), others, VELA)
    choices = [row.rewrite for row in rows if isinstance(row.rewrite, Choice)]
    return (*others, *(choice.if_cheaper(estimator, choices) for choice in choices))
