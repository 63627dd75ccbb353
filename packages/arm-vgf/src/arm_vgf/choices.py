"""Rewrites for VGF that are made where the NX estimator tells fewer cycles with them."""

from __future__ import annotations

from collections.abc import Sequence

from arm_tosa_core.rewrites.by_estimate import Choice, Estimator
from arm_tosa_core.rewrites.cycle_estimate import CycleEstimate
from arm_tosa_core.tosa.rewrite import Rewrite
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import Check

from .bands_of_rows import BANDS_OF_ROWS
from .layout_of_inputs import LAYOUT_OF_INPUT
from .layout_of_outputs import LAYOUT_OF_RESULT
from .moves_by_convolution import CHANNELS_BY_CONVOLUTION
from .nx_cycles import SURROUNDINGS
from .pixel_shuffle import PIXEL_SHUFFLE
from .rewrites import REWRITES
from .strided_convolutions import OVER_PATCHES

#: Each is made only where the estimator gives fewer cycles; without the estimator, never.
CHOICES: tuple[Choice, ...] = (
    PIXEL_SHUFFLE,
    CHANNELS_BY_CONVOLUTION,
    OVER_PATCHES,
    LAYOUT_OF_INPUT,
    LAYOUT_OF_RESULT,
    BANDS_OF_ROWS,
)


def rewrites_for(estimate: CycleEstimate, spec: TosaSpecification, checks: Sequence[Check]) -> tuple[Rewrite, ...]:
    """The rewrites for VGF: those without a choice, and those that the estimate chooses."""
    estimator = Estimator(estimate, spec, checks, REWRITES, SURROUNDINGS)
    return (*REWRITES, *(choice.if_cheaper(estimator, CHOICES) for choice in CHOICES))
